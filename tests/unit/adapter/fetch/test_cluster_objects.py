"""Objects behind selectors: from a copy, in the order of a LIST, and an error that says which right is missing."""

import asyncio
import re

import pytest
from prometheus_client import REGISTRY

from adapter.fetch.cluster_objects import LISTS_MAX, WatchedObjects
from adapter.model import NODES, PODS, GroupResource, UnknownResource
from tests.traced_memory import traced_memory
from tests.unit.adapter.fetch.fake_cluster import DEPLOYMENTS, EVERYTHING, WEB, named
from wire.api import labels
from wire.api.status import Unavailable


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        pytest.param(GroupResource("pod"), PODS, id="singular"),
        pytest.param(GroupResource("deployments"), DEPLOYMENTS, id="without its group"),
        pytest.param(GroupResource("deployment", "ap"), DEPLOYMENTS, id="a part of its group"),
    ],
)
def test_any_spelling_finds_the_resource(mapping, requested, found):
    assert mapping.resource_for(requested) == found


@pytest.mark.parametrize("requested", ["po", "unicorns"], ids=["short name", "unknown"])
def test_short_and_unknown_names_are_not_resources(mapping, requested):
    with pytest.raises(UnknownResource, match=requested):
        mapping.resource_for(GroupResource(requested))


def test_a_resource_is_known_by_kind_and_scope(mapping):
    assert mapping.kind_for(PODS).api_version == "/v1"
    assert mapping.kind_for(DEPLOYMENTS).kind == "Deployment"
    assert mapping.is_namespaced(PODS)
    assert not mapping.is_namespaced(NODES)
    assert (mapping.singular("pods"), mapping.singular("unicorns")) == ("pod", "unicorns")


async def test_objects_are_in_the_order_of_a_list_and_are_listed_once(cluster, watched):
    cluster.objects["/api/v1/pods"] = [
        named("b", "y", app="web"),
        named("a", "z", app="web"),
        named("b", "x", app="web"),
        named("b", "w", app="other"),
    ]
    one = await watched.objects(PODS, namespace="b", selector=WEB)
    everywhere = await watched.objects(PODS, namespace="", selector=EVERYTHING)
    assert [each.name for each in one] == ["x", "y"]
    assert [(each.namespace, each.name) for each in everywhere] == [
        ("a", "z"),
        ("b", "w"),
        ("b", "x"),
        ("b", "y"),
    ]
    assert len(cluster.requested) == 1


async def test_the_first_request_is_answered_as_soon_as_the_list_is_complete(cluster, watched):
    cluster.objects["/api/v1/pods"] = [named("b", "x", app="web")]
    cluster.may_list.clear()
    request = asyncio.create_task(watched.objects(PODS, namespace="b", selector=WEB))
    await passed(10)
    assert not request.done()
    cluster.may_list.set()
    await passed(10)
    assert request.done()
    assert len(cluster.requested) == 1


async def test_the_first_request_does_not_wait_for_a_list_that_has_failed(cluster, watched):
    cluster.forbidden.add("/api/v1/pods")
    request = asyncio.create_task(watched.objects(PODS, namespace="b", selector=WEB))
    await passed(20)
    assert request.done()


async def passed(iterations):
    """So many iterations of the event loop, without time."""
    for _ in range(iterations):
        await asyncio.sleep(0)


async def test_a_change_of_labels_changes_the_answer(cluster, watched):
    cluster.objects["/api/v1/pods"] = [named("b", "x", app="web")]
    assert len(await watched.objects(PODS, namespace="b", selector=WEB)) == 1
    cluster.events.put_nowait({"type": "MODIFIED", "object": named("b", "x", 2, app="other")})
    cluster.events.put_nowait({"type": "ADDED", "object": named("b", "y", 3, app="web")})
    for _ in range(100):
        found = await watched.objects(PODS, namespace="b", selector=WEB)
        if [each.name for each in found] == ["y"]:
            return
        await asyncio.sleep(0)
    pytest.fail(f"still {found}")


async def test_running_pods_are_selected_by_the_api_server(cluster, watched):
    await watched.running_pods(namespace="b", selector=EVERYTHING)
    assert cluster.requested[0][1]["fieldSelector"] == "status.phase=Running"


async def test_without_cluster_wide_list_the_namespace_is_listed(cluster, watched):
    cluster.forbidden.add("/api/v1/pods")
    cluster.objects["/api/v1/namespaces/b/pods"] = [named("b", "x", app="web")]
    found = await watched.objects(PODS, namespace="b", selector=WEB)
    assert [each.name for each in found] == ["x"]
    path, params = cluster.requested[-1]
    assert (path, params["labelSelector"]) == ("/api/v1/namespaces/b/pods", "app=web")


async def test_equal_requests_without_cluster_wide_list_share_one_list(cluster, watched):
    cluster.forbidden.add("/api/v1/pods")
    cluster.objects["/api/v1/namespaces/b/pods"] = [named("b", "x", app="web")]
    found = await asyncio.gather(
        *(watched.objects(PODS, namespace="b", selector=WEB) for _ in range(200))
    )
    assert all([each.name for each in one] == ["x"] for one in found)
    assert [path for path, _ in cluster.requested].count("/api/v1/namespaces/b/pods") == 1


async def test_a_list_serves_equal_requests_for_a_second_and_no_longer(cluster, mapping):
    clock = [100.0]
    tasks = []
    objects = WatchedObjects(
        cluster,
        mapping,
        lambda run: tasks.append(asyncio.create_task(run)),
        monotonic=lambda: clock[0],
    )
    cluster.forbidden.add("/api/v1/pods")
    for clock[0], lists in ((100.0, 1), (100.9, 1), (101.1, 2)):
        await objects.objects(PODS, namespace="b", selector=WEB)
        assert [path for path, _ in cluster.requested].count("/api/v1/namespaces/b/pods") == lists
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_long_list_is_read_in_pages(cluster, watched):
    cluster.forbidden.add("/api/v1/pods")
    cluster.pages["/api/v1/namespaces/b/pods"] = [
        [named("b", "x", app="web")],
        [named("b", "y", app="web")],
    ]
    found = await watched.objects(PODS, namespace="b", selector=WEB)
    assert [each.name for each in found] == ["x", "y"]
    assert [params.get("continue") for path, params in cluster.requested if "/b/" in path] == [
        None,
        "1",
    ]


async def test_only_a_few_lists_are_in_flight_at_once(cluster, watched):
    cluster.forbidden.add("/api/v1/pods")
    await asyncio.gather(
        *(watched.objects(PODS, namespace=f"n{number}", selector=WEB) for number in range(100))
    )
    assert cluster.in_flight_max <= LISTS_MAX


async def test_requests_for_many_namespaces_do_not_grow_the_memory(cluster, mapping):
    tasks = []
    objects = WatchedObjects(
        cluster, mapping, lambda run: tasks.append(asyncio.create_task(run)), bytes_max=400_000
    )
    for number in range(5_000):
        resource = (PODS, DEPLOYMENTS)[number % 2]
        await objects.objects(resource, namespace=f"made-up-{number}", selector=WEB)
    assert len(objects._watched) == 2
    assert 100 < len(objects._found) < 1_000
    assert objects._found.size_bytes <= 350_000
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    "invented",
    [
        pytest.param(lambda number: (f"team-{number:05}", "app=web"), id="namespaces"),
        pytest.param(lambda number: (f"{'n' * 8_000}{number}", "app=web"), id="long namespaces"),
        pytest.param(lambda number: (f"{'n' * 8_000}{number}\U0001f600", ""), id="wide characters"),
        pytest.param(
            lambda number: ("shop", ",".join(f"{'k' * 60}{key}/{number}" for key in range(50))),
            id="long labels",
        ),
        pytest.param(
            lambda number: ("shop", f"a in ({','.join(map(str, range(100, 999)))},x{number})"),
            id="values",
        ),
    ],
)
async def test_what_selectors_have_found_takes_no_more_memory_than_is_counted(
    watched, cluster, invented
):
    cluster.objects["/api/v1/pods"] = []
    await watched.objects(PODS, namespace="shop", selector=EVERYTHING)
    texts = [tuple(map(str.encode, invented(number))) for number in range(200)]
    before_counted = watched._found.size_bytes
    with traced_memory() as memory:
        for namespace, selector in texts:
            parsed = labels._read(selector.decode())
            await watched.objects(PODS, namespace=namespace.decode(), selector=parsed)
        kept_bytes = memory.kept_bytes
    assert kept_bytes <= watched._found.size_bytes - before_counted <= 2 * kept_bytes


async def test_the_names_of_namespaces_count_for_the_bound_of_lists(cluster, mapping):
    cluster.forbidden = {"/api/v1/pods"}
    tasks = []
    objects = WatchedObjects(
        cluster, mapping, lambda run: tasks.append(asyncio.create_task(run)), bytes_max=800_000
    )
    for number in range(50):
        await objects.objects(PODS, namespace=f"{'n' * 8_000}{number}", selector=EVERYTHING)
    assert 0 < len(objects._fresh_lists) * 8_000 <= 100_000
    for task in tasks:
        task.cancel()


async def test_the_lists_of_namespaces_are_bounded_by_what_is_in_them(cluster, mapping):
    tasks = []
    objects = WatchedObjects(
        cluster,
        mapping,
        lambda run: tasks.append(asyncio.create_task(run)),
        bytes_max=800_000,
        monotonic=lambda: 100.0,
    )
    cluster.forbidden.add("/api/v1/pods")
    for number, pods in enumerate((100, 100, 100, 1_000)):
        path = f"/api/v1/namespaces/n{number}/pods"
        cluster.objects[path] = [named(f"n{number}", f"p{each}", app="web") for each in range(pods)]
        found = await objects.objects(PODS, namespace=f"n{number}", selector=WEB)
        assert len(found) == pods
    assert len(objects._fresh_lists) == 2
    assert objects._fresh_lists.currsize <= 100_000
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_copy_that_is_not_kept_up_to_date_says_so_with_its_age(cluster, watched):
    await watched.objects(PODS, namespace="b", selector=WEB)
    assert watched.problem == ""
    cluster.events.put_nowait(None)
    for _ in range(100):
        if watched.problem:
            break
        await asyncio.sleep(0)
    assert re.fullmatch(r"pods: \d+s old: .*the watch is cut", watched.problem)


async def test_the_age_of_a_copy_is_exported(watched, clock):
    def age_seconds():
        labels = {"resource": "pods", "phase": ""}
        return REGISTRY.get_sample_value("loadline_adapter_objects_age_seconds", labels)

    await watched.objects(PODS, namespace="b", selector=WEB)
    assert age_seconds() == 0.0
    clock.seconds += 7.0
    assert age_seconds() == 7.0


async def test_a_missing_right_is_named_with_the_verbs_to_grant(cluster, watched):
    cluster.forbidden |= {"/api/v1/pods", "/api/v1/namespaces/b/pods"}
    with pytest.raises(Unavailable, match=r'User "me" cannot list .* verbs list and watch'):
        await watched.objects(PODS, namespace="b", selector=WEB)


async def test_objects_of_an_unknown_resource_are_not_requested(cluster, watched):
    with pytest.raises(UnknownResource):
        await watched.objects(GroupResource("unicorns"), namespace="b", selector=WEB)
    assert cluster.requested == []


async def test_the_json_of_something_else_is_not_an_empty_list(cluster, watched):
    """Of a gateway in front of kube-apiserver: no pods would be no metrics, with which a target scales down."""
    cluster.forbidden.add("/api/v1/pods")
    get = cluster.get

    async def of_a_gateway(path, params=None, *, accept=""):
        if path.endswith("/namespaces/b/pods"):
            return b'{"error": "session expired"}'
        return await get(path, params, accept=accept)

    cluster.get = of_a_gateway
    with pytest.raises(Unavailable, match="cannot list pods: the response is not a list"):
        await watched.objects(PODS, namespace="b", selector=WEB)
