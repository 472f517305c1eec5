"""Watches of a real kube-apiserver, which from 1.37 on compresses those that begin with the objects that exist."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import aiohttp
import pytest

from testbed.cluster import Cluster
from tests.process.wire.conftest import until
from tests.process.wire.gzip_gateway import GzipGateway
from wire.api import kube_json
from wire.kube.client import KubeClient
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection, connect
from wire.kube.list_and_watch import WatchEvent
from wire.kube.metadata_only import PartialObject

COMPRESSES_FROM_MINOR = 37
# kube-apiserver sends the existing objects first, as for sendInitialEvents.
FROM_THE_BEGINNING = {"resourceVersion": "0", "allowWatchBookmarks": "true"}
LARGE_BYTES = 300_000  # kube-apiserver compresses other responses from 128 KiB on


@pytest.fixture
async def gateway(control_plane: Cluster) -> AsyncIterator[GzipGateway]:
    connection = await connect(control_plane.kubeconfig, user_agent="gateway")
    async with GzipGateway(connection) as running:
        yield running


class Behind:
    """Says that the gateway is the API server."""

    def __init__(self, gateway: GzipGateway) -> None:
        self._gateway = gateway

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        return ClusterAccess(server=self._gateway.url)


@pytest.fixture
async def client_behind(gateway: GzipGateway) -> AsyncIterator[KubeClient]:
    source = Behind(gateway)
    behind = KubeClient(Connection(source, await source.read(), user_agent="test/1"))
    yield behind
    await behind.close()


@pytest.fixture
def configmaps(folder: str) -> str:
    return f"/api/v1/namespaces/{folder}/configmaps"


async def make(client: KubeClient, path: str, name: str, text: str = "") -> None:
    await client.create(path, b'{"metadata":{"name":"%s"},"data":{"x":"%s"}}' % (name.encode(), text.encode()))  # fmt: skip


async def test_a_watch_goes_on_where_only_the_first_gzip_member_is_decoded(
    client, client_behind, gateway, configmaps
):
    await make(client, configmaps, "large", "x" * LARGE_BYTES)
    seen = set()
    async with (
        asyncio.timeout(30),
        aclosing(client_behind.watch(configmaps, FROM_THE_BEGINNING)) as lines,
    ):
        async for line in lines:
            event = kube_json.decode(line, WatchEvent)
            seen.add(kube_json.decode(event.object, PartialObject).metadata.name)
            if event.type == "BOOKMARK":
                await make(client, configmaps, "later")
            if "later" in seen:
                break
    assert {"large", "later"} <= seen
    assert gateway.encodings == [None]
    assert gateway.swallowed_bytes == 0


async def test_the_api_server_would_have_compressed_that_watch_from_1_37_on(
    control_plane, client, gateway, configmaps
):
    """What the test above relies on: the same watch with gzip announced is silent after its first flush."""
    minor = int(control_plane.get("/version")["minor"])
    await make(client, configmaps, "large", "x" * LARGE_BYTES)
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            gateway.url + configmaps,
            params={**FROM_THE_BEGINNING, "watch": "true"},
            headers={"Accept-Encoding": "gzip"},
        ) as watch,
    ):
        await watch.content.readany()
        if minor < COMPRESSES_FROM_MINOR:
            assert gateway.encodings == [None]
        else:
            assert gateway.encodings == ["gzip"]
            await make(client, configmaps, "later")
            await until(lambda: gateway.swallowed_bytes, what="an event that is not decoded")
