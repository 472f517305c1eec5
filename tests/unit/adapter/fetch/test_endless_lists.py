"""Lists of objects that do not end, or have too many objects."""

import asyncio
import itertools
import json

import pytest

from adapter.fetch.cluster_mapping import ClusterMapping
from adapter.fetch.cluster_objects import LIST_SECONDS, WatchedObjects
from adapter.model import PODS
from tests.fakes import virtual_time
from tests.unit.adapter.fetch.fake_cluster import EVERYTHING, WEB, FakeCluster, named
from wire.api.status import Unavailable
from wire.kube.mapper import RestMapper


def test_a_list_that_does_not_end_is_given_up_when_no_client_waits_any_more():
    """It would use one of the few slots, and memory, for as long as the server sends pages."""

    async def scenario():
        cluster, tasks, pages = FakeCluster(), [], itertools.count(1)
        get = cluster.get

        async def endless(path, params=None, *, accept=""):
            if not path.endswith("/namespaces/b/pods"):
                return await get(path, params, accept=accept)
            await virtual_time.passes(1.0)
            metadata = {"resourceVersion": "1", "continue": str(next(pages))}
            return json.dumps({"metadata": metadata, "items": []}).encode()

        cluster.get = endless
        cluster.forbidden.add("/api/v1/pods")
        mapper = RestMapper(cluster)
        await mapper.refresh()
        objects = WatchedObjects(
            cluster, ClusterMapping(mapper), lambda run: tasks.append(asyncio.create_task(run))
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.0):
                await objects.objects(PODS, namespace="b", selector=WEB)
        await virtual_time.passes(LIST_SECONDS)
        read = next(pages)
        await virtual_time.passes(LIST_SECONDS)
        assert next(pages) == read + 1
        with pytest.raises(
            Unavailable, match=r"namespaces/b/pods did not end within 60 s"
        ) as refused:
            await objects.objects(PODS, namespace="b", selector=WEB)
        for task in tasks:
            task.cancel()
        return str(refused.value)

    assert "59 pages" in virtual_time.run(scenario())


async def test_a_list_with_too_many_objects_says_so(cluster, mapping):
    tasks = []
    watched = WatchedObjects(
        cluster, mapping, lambda run: tasks.append(asyncio.create_task(run)), objects_max=2
    )
    cluster.forbidden.add("/api/v1/pods")
    cluster.pages["/api/v1/namespaces/b/pods"] = [[named("b", name)] for name in "xyz"]
    with pytest.raises(Unavailable, match="namespaces/b/pods has more than 2 objects"):
        await watched.objects(PODS, namespace="b", selector=EVERYTHING)
    for task in tasks:
        task.cancel()
