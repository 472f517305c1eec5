"""A copy of objects that the API server has not confirmed for minutes: its objects are listed, as prometheus-adapter does."""

import asyncio

import pytest

from adapter.fetch.cluster_objects import WatchedObjects
from adapter.model import PODS
from tests.unit.adapter.fetch.fake_cluster import WEB, named
from wire.api.status import Unavailable
from wire.kube.object_copy import COPY_AGE_SECONDS_MAX

LISTED = "/api/v1/namespaces/b/pods"


class Pods:
    """The names of the pods that the adapter finds, at `seconds` of its clock."""

    def __init__(self, cluster, mapping):
        self.seconds = 1_000.0
        self.tasks = []
        self._objects = WatchedObjects(
            cluster,
            mapping,
            lambda run: self.tasks.append(asyncio.create_task(run)),
            monotonic=lambda: self.seconds,
        )

    async def names(self):
        found = await self._objects.objects(PODS, namespace="b", selector=WEB)
        return [each.name for each in found]


@pytest.fixture
async def pods(cluster, mapping):
    """One pod is in the copy, and another one was created since."""
    cluster.objects["/api/v1/pods"] = [named("b", "x", app="web")]
    cluster.objects[LISTED] = [named("b", "x", app="web"), named("b", "y", app="web")]
    made = Pods(cluster, mapping)
    assert await made.names() == ["x"]
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


@pytest.mark.deviation("objects-from-a-copy")
async def test_the_objects_of_a_copy_that_is_outdated_are_listed(pods):
    pods.seconds += COPY_AGE_SECONDS_MAX
    assert await pods.names() == ["x"]
    pods.seconds += 1
    assert await pods.names() == ["x", "y"]


async def test_a_copy_that_is_outdated_is_not_served_if_its_objects_cannot_be_listed(cluster, pods):
    cluster.forbidden.add(LISTED)
    pods.seconds += COPY_AGE_SECONDS_MAX + 1
    with pytest.raises(Unavailable, match='User "me" cannot list'):
        await pods.names()


async def test_a_copy_that_is_confirmed_again_is_served_again(cluster, pods):
    pods.seconds += COPY_AGE_SECONDS_MAX + 1
    assert await pods.names() == ["x", "y"]
    cluster.events.put_nowait({"type": "MODIFIED", "object": named("b", "x", 2, app="web")})
    for _ in range(10):
        await asyncio.sleep(0)
    requests = len(cluster.requested)
    assert await pods.names() == ["x"]
    assert len(cluster.requested) == requests
