"""An explanation has the rows of the wide query that serves, and changes nothing for the requests."""

from adapter.model import Lane
from adapter.wide.demand import FORGOTTEN_SECONDS
from tests.unit.adapter.wide.test_plans import REQUESTS, Planner


async def test_an_explanation_has_the_rows_of_the_wide_query_and_does_not_count_as_demand():
    planner = Planner()
    query, names = REQUESTS[0]
    for _ in range(20):
        assert await planner.explained(query, names) is None, "no request wants it"
    await planner.period()
    await planner.period()
    served = await planner.plans.evaluation_for(query.wide, query.plan.query, names)
    assert served is not None
    planner.prometheus.lanes.clear()
    assert await planner.explained(query, names) == served
    assert planner.prometheus.lanes == [Lane.COMMAND]


async def test_an_explanation_that_fails_takes_no_query_from_the_autoscalers():
    planner = Planner()
    query, names = REQUESTS[0]
    await planner.period()
    await planner.period()
    planner.prometheus.failure = ("no connection", True)
    assert await planner.explained(query, names) is None
    planner.prometheus.failure = None
    assert await planner.period() == [True] * 8


async def test_an_explanation_has_no_rows_of_a_wide_query_that_nothing_has_requested_for_long():
    planner = Planner()
    query, names = REQUESTS[0]
    await planner.period()
    await planner.period()
    planner.clock.seconds += FORGOTTEN_SECONDS + 1.0
    assert await planner.explained(query, names) is None
