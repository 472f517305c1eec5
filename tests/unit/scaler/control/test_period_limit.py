"""Without `behavior`, all reconciles of one period may add as many replicas as one, however often a changed metric brings one forward."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import ExternalValues
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import SPEC, World, autoscaler

PERIOD_SECONDS = 15


def world(kind=LOAD_AUTOSCALERS, **spec):
    made = World(
        kind=kind,
        copies=True,
        object=autoscaler(spec={**SPEC, "maxReplicas": 500, **spec}),
        metric_status_max_age_seconds=60,
    )
    made.scaled(3)
    return made


async def second(of, number, value):
    """One second later, by a regular reconcile or by one that a change has brought forward."""
    of.is_brought_forward = number % PERIOD_SECONDS != 0
    return await of.sync(value, elapsed=1)


@pytest.mark.deviation("reaction")
@pytest.mark.parametrize("kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS])
async def test_a_value_that_jumps_doubles_the_count_once_in_a_period(kind):
    of = world(kind)
    found = [await second(of, number, 5_000 + number) for number in range(4 * PERIOD_SECONDS)]
    assert found == [6] * 15 + [12] * 15 + [24] * 15 + [48] * 15


async def test_what_the_first_reconcile_of_a_period_leaves_is_left_to_those_that_are_brought_forward():
    of = world()
    loads = [30, 40, 50, 90, 10, 90]
    assert [await second(of, number, load) for number, load in enumerate(loads)] == [
        3, 4, 5, 6, 6, 6,
    ]  # fmt: skip


async def test_an_autoscaler_with_a_longer_period_may_double_as_often_as_any_other():
    of = world(syncPeriodSeconds=600)
    found = []
    for number in range(31):
        of.is_brought_forward = number > 0
        found.append(await of.sync(5_000 + number, elapsed=1))
    assert found == [6] * 15 + [12] * 15 + [24]


async def test_a_regular_reconcile_adds_what_one_that_was_brought_forward_could_not():
    """The value has not changed since, and the decision was kept."""
    of = world()
    assert [await second(of, number, 500) for number in range(16)] == [6] * 15 + [12]


async def test_a_change_that_the_limit_holds_back_brings_nothing_forward():
    of = world()
    for number in range(4):
        await second(of, number, 500 + number)
    of.measurements.are_shared = True
    for value in (600, 30):
        of.measurements.readings = [ExternalValues((value * 1000,))]
        assert not of.reconciler.may_rescale("shop/web")


@given(loads=st.lists(st.integers(0, 900), min_size=20, max_size=60))
def test_no_period_adds_more_than_its_first_reconcile_might_have(loads):
    async def scenario():
        of = world()
        counts = [3]
        for number, load in enumerate(loads):
            counts.append(await second(of, number, load))
        for begin in range(0, len(loads), PERIOD_SECONDS):
            period = counts[begin + 1 : begin + 1 + PERIOD_SECONDS]
            assert max(period) <= max(4, 2 * counts[begin])

    asyncio.run(scenario())
