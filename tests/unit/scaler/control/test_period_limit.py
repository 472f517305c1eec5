"""All reconciles of one period may add as many replicas as one, however often a changed metric brings one forward.

What that limit or a policy holds back follows as soon as it is allowed, also with a period that ends much later.
"""

import asyncio
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import ExternalValues
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.control.controller import Controller
from scaler.control.workqueue import WorkQueue
from tests.fakes import virtual_time
from tests.unit.scaler.control.world import KEY, SPEC, World, autoscaler

PERIOD_SECONDS = 15
HOUR_SECONDS = 3600.0


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


async def counts_within(seconds, load_at, *, streams=True, **spec):
    """The replicas at each second, and when it was reconciled, with a regular reconcile each hour. `load_at`: what is streamed by second."""
    of, queue = world(syncPeriodSeconds=3600, **spec), WorkQueue(PERIOD_SECONDS)
    began_seconds = of.monotonic_seconds
    queue.add(KEY, "", began_seconds, period_seconds=HOUR_SECONDS, within_seconds=0.5)
    counts, reconciled, value = [], [], None
    for second in range(1, seconds):
        of.passes(1)
        before, value = value, load_at(second)
        readings = of.measurements.readings = [ExternalValues((value * 1000,))]
        if streams and value != before:
            of.measurements.are_shared = True
            due_seconds = of.reconciler.rescale_due_seconds(KEY)
            of.measurements.are_shared = False
            queue.bring_forward(KEY, max(of.monotonic_seconds, due_seconds))
        while queue.get(of.monotonic_seconds):
            reconciled.append(second)
            of.is_brought_forward = queue.is_brought_forward(KEY)
            await of.reconcile_and_keep(readings)
            queue.done(KEY, of.monotonic_seconds, requeue=True)
            queue.bring_forward(KEY, of.reconciler.due_again_seconds(KEY))
        counts.append(of.replicas)
    return counts, reconciled


@pytest.mark.parametrize("streams", [True, False])
async def test_a_load_that_rises_and_stays_is_followed_within_some_periods_of_the_flag(streams):
    """Not after the hour of `syncPeriodSeconds`, after which the next regular reconcile comes."""
    counts, reconciled = await counts_within(
        600, lambda second: 1000 if second > 2 or not streams else 30, streams=streams
    )
    assert max(reconciled) <= 8 * PERIOD_SECONDS
    assert counts[8 * PERIOD_SECONDS :] == [100] * (599 - 8 * PERIOD_SECONDS)


async def test_a_change_that_the_limit_holds_back_is_followed_at_the_end_of_its_period():
    """The reconciles before it were not limited, and no value changes afterwards."""
    loads = [30, 60, 61, 60, 61, 60]
    counts, reconciled = await counts_within(
        60, lambda second: loads[second - 1] if second <= len(loads) else 120
    )
    assert [second for second in reconciled if second > len(loads)] == [16]
    assert (counts[14], counts[15], counts[-1]) == (6, 12, 12)


async def test_the_limit_causes_one_more_reconcile_for_each_period():
    """Beside those after a write, when it is not known what a change would lead to."""
    counts, reconciled = await counts_within(120, lambda second: 5_000 + second)
    assert {(second - 1) % PERIOD_SECONDS for second in reconciled} <= {0, 1, 2}
    assert counts[-1] == 500


def with_policies(*policies, select="Max"):
    """Of scale-ups: a type, a value and a period in seconds each."""
    listed = [
        {"type": type_, "value": value, "periodSeconds": seconds}
        for type_, value, seconds in policies
    ]
    return {"behavior": {"scaleUp": {"selectPolicy": select, "policies": listed}}}


@pytest.mark.parametrize("streams", [True, False])
async def test_what_a_policy_holds_back_follows_when_its_period_ends(streams):
    """Not after the hour of `syncPeriodSeconds`: that long, 7 replicas would do the work of 15."""
    counts, reconciled = await counts_within(
        200,
        lambda second: 150 if second > 2 or not streams else 30,
        streams=streams,
        **with_policies(("Pods", 4, 60)),
    )
    assert sorted({*counts} - {3}) == [7, 11, 15]
    changed = [at for at in range(1, 199) if counts[at - 1] != counts[at]]
    assert all(60 <= after - before <= 61 for before, after in pairwise(changed))
    assert len(reconciled) <= 6


async def test_a_change_that_a_policy_holds_back_is_followed_when_the_period_of_the_policy_ends():
    """The reconciles before it were not limited, and no value changes afterwards."""
    loads = [30, 70, 71, 70, 71, 70]
    counts, reconciled = await counts_within(
        90,
        lambda second: loads[second - 1] if second <= len(loads) else 110,
        **with_policies(("Pods", 4, 60)),
    )
    assert [second for second in reconciled if second > len(loads)] == [62]
    assert (counts[60], counts[61], counts[-1]) == (7, 11, 11)


async def test_policies_cause_no_more_than_one_reconcile_per_period():
    """One of a second, and one of a minute that limits it: what was added leaves both."""
    _, reconciled = await counts_within(
        120, lambda _: 5_000, streams=False, **with_policies(("Pods", 90, 1), ("Pods", 6, 60), select="Min")
    )  # fmt: skip
    assert all(after - before >= PERIOD_SECONDS for before, after in pairwise(reconciled))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(with_policies(("Pods", 3, 15), select="Disabled"), id="no scale-up at all"),
        pytest.param({"mode": "DryRun"}, id="a dry run"),
        pytest.param({"maxReplicas": 6}, id="the maximum is reached"),
        pytest.param(
            {"behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 3, "periodSeconds": 900}]}}},
            id="a policy",
        ),
    ],
)  # fmt: skip
async def test_without_a_count_that_the_next_period_might_change_nothing_is_brought_forward(spec):
    _, reconciled = await counts_within(600, lambda _: 5_000, **spec)
    assert reconciled == [1]


def test_the_controller_reconciles_again_when_the_limit_ends():
    async def scenario():
        time = asyncio.get_running_loop().time
        began, until = [], {0.0: 15.0, 15.0: 30.0}

        async def reconcile(_):
            began.append(time())
            return True

        of = world()
        running = Controller(
            WorkQueue(PERIOD_SECONDS),
            reconcile,
            of.telemetry,
            due_again=lambda _: until.get(began[-1], math.inf),
            concurrent=1,
            monotonic=time,
        )
        running.enqueue(KEY, "", period_seconds=HOUR_SECONDS, within_seconds=0.0)
        task = asyncio.create_task(running.run())
        await virtual_time.passes(HOUR_SECONDS - 1)
        assert began == [0.0, 15.0, 30.0]
        task.cancel()
        await asyncio.wait({task})

    virtual_time.run(scenario())


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
        assert of.reconciler.rescale_due_seconds(KEY) == math.inf


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
