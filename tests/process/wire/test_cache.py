"""The watch cache against a real API server that stops and starts again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from testbed.cluster import Cluster
from tests.deadline import DEADLINE_SECONDS
from tests.process.wire.conftest import until
from wire.kube.cache import WatchCache
from wire.kube.client import KubeClient
from wire.kube.metadata_only import PartialObject


@contextlib.asynccontextmanager
async def running(cache: WatchCache[PartialObject]) -> AsyncIterator[None]:
    """Run the cache during a block."""
    task = asyncio.create_task(cache.run())
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.fixture
async def cache(client: KubeClient, folder: str) -> AsyncIterator[WatchCache[PartialObject]]:
    """Of the ConfigMaps in `folder`, running."""
    kept = WatchCache(
        client,
        f"/api/v1/namespaces/{folder}/configmaps",
        PartialObject,
        metadata_only=True,
        page_size=3,
    )
    async with running(kept):
        await asyncio.wait_for(kept.synced(), timeout=DEADLINE_SECONDS)
        yield kept


def make(control_plane: Cluster, folder: str, name: str) -> None:
    control_plane.kubectl("create", "configmap", name, "-n", folder)


async def test_a_cache_follows_changes(control_plane, folder, cache):
    make(control_plane, folder, "a")
    await until(lambda: cache.get(folder, "a"), what="a was made")
    control_plane.kubectl("label", "configmap", "a", "k=v", "-n", folder)
    await until(lambda: cache.get(folder, "a").metadata.labels == {"k": "v"}, what="its label")
    control_plane.kubectl("delete", "configmap", "a", "-n", folder)
    await until(lambda: cache.get(folder, "a") is None, what="a was deleted")


async def test_a_cache_survives_a_restart_of_the_api_server(control_plane, folder, cache):
    make(control_plane, folder, "before")
    await until(lambda: cache.get(folder, "before"), what="before was made")
    control_plane.stop_component("kube-apiserver")
    await until(lambda: cache.last_error, what="the cache reports the outage")
    assert cache.get(folder, "before"), "the copy stays"
    await asyncio.to_thread(control_plane.start_apiserver)
    make(control_plane, folder, "after")
    await until(lambda: cache.get(folder, "after"), what="after was made")
    assert cache.get(folder, "before")
    assert cache.last_error is None


async def test_an_expired_resource_version_is_listed_again(control_plane, client, folder, caplog):
    """The API server was restarted above, so it no longer has the history."""
    caplog.set_level("INFO")
    make(control_plane, folder, "a")
    kept = WatchCache(client, f"/api/v1/namespaces/{folder}/configmaps", PartialObject)
    kept._resource_version = "1"
    await asyncio.to_thread(control_plane.restart_apiserver)
    async with running(kept):
        await until(lambda: kept.get(folder, "a"), what="the list after 410")
    assert "listing again" in caplog.text


async def test_a_long_collection_comes_in_pages(control_plane, client, folder):
    for number in range(8):
        make(control_plane, folder, f"c{number}")
    kept = WatchCache(
        client,
        f"/api/v1/namespaces/{folder}/configmaps",
        PartialObject,
        metadata_only=True,
        page_size=3,
    )
    async with running(kept):
        await asyncio.wait_for(kept.synced(), timeout=DEADLINE_SECONDS)
    assert len([item for item in kept.items if item.metadata.name.startswith("c")]) == 8


async def test_an_object_of_a_megabyte_is_one_event(control_plane, client, folder, cache):
    body = b'{"metadata":{"name":"big"},"data":{"x":"%s"}}' % (b"x" * 1_000_000)
    full = WatchCache(client, f"/api/v1/namespaces/{folder}/configmaps", PartialObject)
    async with running(full):
        await full.synced()
        await client.create(f"/api/v1/namespaces/{folder}/configmaps", body)
        await until(lambda: full.get(folder, "big"), what="big was seen")
        await until(lambda: cache.get(folder, "big"), what="its metadata was seen")
