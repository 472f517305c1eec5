"""Which namespaces are in which wide query, and that they cannot fill the memory."""

import re

import msgspec

from adapter.wide.chunks import NAMESPACES_PER_PLAN
from adapter.wide.demand import FORGOTTEN_SECONDS
from tests.unit.adapter.wide.test_plans import Planner, SmallPrometheus, of_pods, of_queue


async def test_many_namespaces_are_split_into_several_queries():
    namespaces = [f"team-{number}" for number in range(NAMESPACES_PER_PLAN + 10)]
    planner = Planner(SmallPrometheus(namespaces, pods=1))
    requests = [of_pods(namespace, ("web-0",)) for namespace in namespaces]
    await planner.period(requests)
    planner.prometheus.clear()
    assert await planner.period(requests) == [True] * len(requests)
    sizes = {
        len(re.findall(r"team-\d+", plan.query)): plan.query for plan in planner.prometheus.wide
    }
    assert sorted(sizes) == [10, NAMESPACES_PER_PLAN]


async def test_a_client_that_invents_namespaces_cannot_fill_the_memory():
    planner = Planner(namespaces_max=500)
    query, _ = of_queue("team-0", "queue=q1")
    for number in range(2_000):
        wide = msgspec.structs.replace(query.wide, namespace=f"invented-{number}")
        planner.clock.now_seconds += 2.0
        assert await planner.plans.evaluation_for(wide, "q", ()) is None
        assert sum(len(each._chunk_of) for each in planner.plans._queries.values()) <= 501


async def test_queries_that_are_forgotten_take_their_namespaces_with_them():
    planner = Planner(queries_max=2, namespaces_max=50)
    kept, _ = of_queue("team-0", "queue=q1")
    first = planner.plans._chunks(kept.wide.query)
    for number in range(100):
        other, _ = of_queue("team-1", f"queue=q1,pod in (web-{number},web-x)")
        assert await planner.plans.evaluation_for(other.wide, "q", ()) is None
        await planner.plans.evaluation_for(kept.wide, "q", ())
    assert planner.plans._chunks(kept.wide.query) is first, "only 2 of 50 namespaces are known"


async def test_namespaces_that_are_left_of_many_share_one_wide_query_again():
    left = [f"left-{number}" for number in range(3)]
    died = [f"died-{number}" for number in range(3 * NAMESPACES_PER_PLAN - len(left))]
    every = [*died]
    for number, namespace in enumerate(left):
        every.insert(number * NAMESPACES_PER_PLAN, namespace)
    planner = Planner(SmallPrometheus(left, pods=1))
    query, _ = of_queue("team-0", "queue=q0")
    for namespace in every:
        wide = msgspec.structs.replace(query.wide, namespace=namespace)
        assert await planner.plans.evaluation_for(wide, "q", ()) is None
    requests = [of_queue(namespace, "queue=q0") for namespace in left]
    for _ in range(30):
        answered = await planner.period(requests, seconds=15.0)
    assert answered == [True] * 3


async def test_namespaces_that_come_and_go_do_not_end_the_wide_queries_of_the_others():
    planner = Planner(namespaces_max=20)
    query, _ = of_queue("team-0", "queue=q1")
    first = planner.plans._chunks(query.wide.query)
    for number in range(100):
        wide = msgspec.structs.replace(query.wide, namespace=f"preview-{number}")
        planner.clock.now_seconds += FORGOTTEN_SECONDS / 10
        await planner.plans.evaluation_for(wide, "q", ())
    assert planner.plans._chunks(query.wide.query) is first
