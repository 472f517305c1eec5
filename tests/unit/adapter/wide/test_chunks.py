"""Which namespaces are in which wide query, and that they cannot fill the memory."""

import re
import tracemalloc

import msgspec
import pytest

from adapter.caches import MIB, SizedCache
from adapter.model import Evaluation, Freshness, WideQuery
from adapter.wide.chunks import NAMESPACES_PER_PLAN, Chunks
from adapter.wide.demand import FORGOTTEN_SECONDS
from tests.traced_memory import traced_memory
from tests.unit.adapter.wide.test_plans import Planner, SmallPrometheus, of_pods, of_queue

SUM = "sum(<<.Series>>{<<.LabelMatchers>>})"


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
    planner = Planner(bytes_max=250_000)
    query, _ = of_queue("team-0", "queue=q1")
    sizes = []
    for number in range(2_000):
        wide = msgspec.structs.replace(query.wide, namespace=f"invented-{number}")
        planner.clock.seconds += 0.1
        assert await planner.plans.evaluation_for(wide, "q", ()) is None
        sizes.append(planner.plans._queries.size_bytes)
    assert 200_000 < max(sizes) <= 250_000


async def test_a_client_that_invents_selectors_cannot_fill_the_memory():
    planner = Planner(bytes_max=50_000)
    kept, _ = of_queue("team-0", "queue=q1")
    first = planner.plans._chunks(kept.wide.query)
    for number in range(100):
        other, _ = of_queue("team-1", f"queue=q1,pod in (web-{number},web-x)")
        assert await planner.plans.evaluation_for(other.wide, "q", ()) is None
        await planner.plans.evaluation_for(kept.wide, "q", ())
        assert planner.plans._queries.size_bytes <= 50_000
    assert planner.plans._chunks(kept.wide.query) is first, "the others are dropped before it"


def test_the_requests_that_are_counted_for_wide_queries_count_for_the_bound():
    """Each query keeps those of its last period, also if it is not requested any more."""
    planner = Planner(bytes_max=500_000)
    wide = [of_queue("a", f"queue!=q{number}")[0].wide for number in range(20)]
    nothing = Evaluation(samples=(), evaluated_at_seconds=1.0)
    with traced_memory():
        for each in wide:
            for number in range(1_000):
                narrow = f"{each.query.parts[0]}{number}"
                planner.plans._chunk(each, 1.0, is_known=False).demand.requested(narrow, 1, 1.0)
                if number % 2:
                    planner.plans.own_query_answered(each, narrow, nothing)
        kept = tracemalloc.take_snapshot()
    assert planner.plans._queries.size_bytes <= 500_000
    of_package = kept.filter_traces([tracemalloc.Filter(True, "*/adapter/wide/*")])
    assert sum(each.size for each in of_package.traces) <= 2 * 500_000


async def test_requests_of_a_period_that_has_ended_do_not_count_for_the_bound():
    planner = Planner()
    query, _ = of_queue("a", "queue=q")
    sizes = []
    for seconds in (0.0, 10.0):
        planner.clock.seconds += seconds
        for number in range(1_000 if seconds == 0.0 else 3):
            await planner.plans.evaluation_for(query.wide, f"q{number}", ())
        sizes.append(planner.plans._queries.size_bytes)
    assert sizes[1] + 50_000 < sizes[0]


@pytest.mark.parametrize(
    ("queries", "namespaces", "template"),
    [
        pytest.param(500, 1, SUM, id="queries"),
        pytest.param(50, 1, " + ".join([SUM] * 10), id="long queries"),
        pytest.param(1, 5_000, SUM, id="namespaces"),
        pytest.param(2, 3_000, " + ".join([SUM] * 10), id="namespaces in many places"),
    ],
)
def test_wide_queries_take_no_more_memory_than_is_counted(queries, namespaces, template):
    wide = [of_queue("a", f"queue!=q{number}", template)[0].wide.query for number in range(queries)]
    encoded = [msgspec.json.encode(each) for each in wide]
    kept: SizedCache[WideQuery, Chunks] = SizedCache(100 * MIB, lambda _, each: each.size_bytes)
    with traced_memory() as memory:
        for each in encoded:
            query = msgspec.json.decode(each, type=WideQuery)
            chunks = Chunks(query, Freshness())
            for number in range(namespaces):
                chunk = chunks.of(f"{number:0>63}", number / 1_000)
                chunk.demand.requested("q", 1, 0.0)
            for chunk in chunks._chunks:
                chunk._build(100.0)
            kept.keep(query, chunks)
        kept_bytes = memory.kept_bytes
    assert kept_bytes <= kept.size_bytes <= 2 * kept_bytes


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
    planner = Planner(bytes_max=20_000)
    query, _ = of_queue("team-0", "queue=q1")
    first = planner.plans._chunks(query.wide.query)
    for number in range(100):
        wide = msgspec.structs.replace(query.wide, namespace=f"preview-{number}")
        planner.clock.seconds += FORGOTTEN_SECONDS / 10
        await planner.plans.evaluation_for(wide, "q", ())
    assert planner.plans._chunks(query.wide.query) is first
