"""Objects with more labels than fit in memory: found as by the API server, without keeping their labels."""

import asyncio

import pytest

from adapter.fetch.object_labels import LABELS_BYTES_MAX
from adapter.model import PODS
from tests.traced_memory import traced_memory
from tests.unit.adapter.fetch.fake_cluster import EVERYTHING, WEB, named
from wire.api import labels

LISTED = "/api/v1/namespaces/b/pods"
MANY = {f"k{number:05}": "" for number in range(20_000)}


def large(name, version=1, **own):
    return named("b", name, version, **{**MANY, **own})


async def found(watched, selector=WEB, namespace="b"):
    return [
        each.name for each in await watched.objects(PODS, namespace=namespace, selector=selector)
    ]


def lists(cluster):
    """The selectors of the LISTs of the namespace."""
    return [params["labelSelector"] for path, params in cluster.requested if path == LISTED]


@pytest.mark.deviation("large-labels")
async def test_an_object_with_large_labels_takes_no_more_memory_than_another(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large(f"x{number}", app="web") for number in range(5)]
    with traced_memory() as memory:
        await watched.objects(PODS, namespace="b", selector=EVERYTHING)
        cluster.objects.clear()
        assert memory.kept_bytes < 5 * LABELS_BYTES_MAX


async def test_the_api_server_compares_a_selector_with_labels_that_are_not_kept(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web"), named("b", "y", app="other")]
    cluster.objects[LISTED] = [large("x", app="web")]
    assert await found(watched) == ["x"]
    assert lists(cluster) == ["app=web"]


async def test_equal_requests_for_such_objects_share_a_list(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web")]
    cluster.objects[LISTED] = [large("x", app="web")]
    await asyncio.gather(*(found(watched) for _ in range(20)))
    assert len(lists(cluster)) == 1


async def test_such_a_list_takes_no_more_memory_than_another(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web")]
    cluster.objects[LISTED] = [large(f"x{number}", app="web") for number in range(5)]
    await found(watched, EVERYTHING)
    with traced_memory() as memory:
        assert len(await found(watched)) == 5
        cluster.objects.clear()
        assert memory.kept_bytes < 5 * LABELS_BYTES_MAX


async def test_one_list_of_such_objects_is_read_at_a_time_in_small_pages(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web")]
    await found(watched, EVERYTHING)
    cluster.in_flight_max = 0
    selectors = [labels.parse(f"app=web{number}") for number in range(5)]
    await asyncio.gather(*(found(watched, each) for each in selectors))
    assert cluster.in_flight_max == 1
    assert {params["limit"] for path, params in cluster.requested if path == LISTED} == {"10"}


async def test_other_namespaces_are_answered_from_the_copy(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web"), named("c", "z", app="web")]
    assert await found(watched, namespace="c") == ["z"]
    assert len(cluster.requested) == 1


async def test_all_objects_are_answered_from_the_copy(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web"), named("b", "y", app="web")]
    assert await found(watched, EVERYTHING) == ["x", "y"]
    assert await found(watched, EVERYTHING, namespace="") == ["x", "y"]
    assert len(cluster.requested) == 1


async def test_a_selector_in_all_namespaces_is_compared_by_the_api_server(cluster, watched):
    cluster.objects["/api/v1/pods"] = [large("x", app="web")]
    await found(watched, EVERYTHING)
    await found(watched, namespace="")
    assert [params.get("labelSelector") for _, params in cluster.requested] == [None, "app=web"]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param({"type": "DELETED", "object": large("x", 2, app="web")}, id="deleted"),
        pytest.param({"type": "MODIFIED", "object": named("b", "x", 2, app="no")}, id="small"),
    ],
)
async def test_the_copy_answers_again_once_no_object_has_large_labels(cluster, watched, event):
    cluster.objects["/api/v1/pods"] = [large("x", app="web"), named("b", "y", app="web")]
    cluster.objects[LISTED] = [large("x", app="web")]
    assert await found(watched) == ["x"]
    cluster.events.put_nowait(event)
    for _ in range(10):
        await asyncio.sleep(0)
    assert await found(watched) == ["y"]


async def test_an_object_without_labels_may_get_large_ones(cluster, watched):
    cluster.objects["/api/v1/pods"] = [named("b", "x")]
    cluster.objects[LISTED] = [large("x", app="web")]
    assert await found(watched) == []
    cluster.events.put_nowait({"type": "MODIFIED", "object": large("x", 2, app="web")})
    for _ in range(10):
        await asyncio.sleep(0)
    assert await found(watched) == ["x"]


async def test_what_selectors_have_found_keeps_no_labels_that_objects_had_before(cluster, watched):
    """One client changes the labels of its pods again and again, and uses another selector after each change."""
    ordinary = {f"k{number}": "v" * 60 for number in range(100)}
    cluster.objects["/api/v1/pods"] = [named("b", "x", **ordinary)]
    await found(watched, EVERYTHING)
    with traced_memory() as memory:
        for version in range(2, 102):
            changed = {key: f"{version}{value}"[:60] for key, value in ordinary.items()}
            event = {"type": "MODIFIED", "object": named("b", "x", version, **changed)}
            cluster.events.put_nowait(event)
            for _ in range(10):
                await asyncio.sleep(0)
            assert await found(watched, labels.parse(f"k0,!x{version}")) == ["x"]
        assert memory.kept_bytes < 10 * LABELS_BYTES_MAX
