"""A Scale that is kept while the target does not change saves a request, and changes no decision."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import ExternalValues
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import SCALE_PATH, SPEC, World, autoscaler
from tests.unit.scaler.objects import few_examples
from wire.api.status import StatusError, Unavailable

BOTH_KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
NO_WINDOW = {**SPEC, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}


def scale_reads(world):
    return sum(path == SCALE_PATH for path, _ in world.kube.requested)


def scale_writes(world):
    return [body["spec"]["replicas"] for path, body in world.kube.applied if path == SCALE_PATH]


@pytest.mark.deviation("cached-scale")
@BOTH_KINDS
async def test_an_unchanged_target_is_read_once(kind):
    world = World(copies=True, kind=kind)
    world.scaled(3)
    for _ in range(10):
        assert await world.sync(30) == 3
    assert scale_reads(world) == 1


async def test_a_changed_target_is_read_again():
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    world.scaled(4)
    await world.sync(40)
    assert scale_reads(world) == 2
    assert world.status()["currentReplicas"] == 4


async def test_while_the_version_is_unknown_every_reconcile_reads_the_scale():
    world = World(copies=True)
    world.watched_version = lambda: ""
    world.scaled(3)
    for _ in range(5):
        await world.sync(30)
    assert scale_reads(world) == 5


@BOTH_KINDS
async def test_a_target_that_has_not_changed_is_written_without_another_read(kind):
    world = World(copies=True, kind=kind)
    world.scaled(3)
    await world.sync(30)
    assert await world.sync(60) == 6
    assert scale_reads(world) == 1
    assert world.conditions()["AbleToScale"] == ("True", "SucceededRescale")


@pytest.mark.deviation("cached-scale")
async def test_an_outdated_copy_is_not_written():
    """The watch has not delivered yet what a user has changed."""
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    behind = str(world.version)
    world.watched_version = lambda: behind
    world.scaled(6)
    await world.sync(60)
    assert scale_writes(world) == [], "6 replicas are what 60 requires"
    assert world.status()["currentReplicas"] == 6


async def test_a_decision_that_waited_for_the_scale_is_made_again():
    """The API server took 20 seconds to send the Scale, and the load is over."""
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    behind = str(world.version)
    world.watched_version = lambda: behind
    world.scaled(3, selector="app=other")
    get = world.kube.get

    async def slow(path, params=None, *, accept=""):
        if path == SCALE_PATH:
            world.passes(20)
            world.measurements.readings = [ExternalValues((30_000,))]
        return await get(path, params, accept=accept)

    world.kube.get = slow
    await world.sync(90)
    assert scale_writes(world) == []


async def test_an_outdated_target_that_cannot_be_read_is_not_written():
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    behind = str(world.version)
    world.watched_version = lambda: behind
    world.scaled(4)
    world.kube.answers[SCALE_PATH] = Unavailable("no route")
    await world.sync(90)
    assert scale_writes(world) == []
    assert world.conditions()["AbleToScale"] == ("False", "FailedGetScale")


@pytest.mark.parametrize(
    "failure", [Unavailable("no route"), StatusError("etcd", code=500, reason="InternalError")]
)
async def test_a_write_without_a_certain_response_is_a_failed_rescale(failure):
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    world.kube.put_answers = [failure]
    await world.sync(60)
    assert world.conditions()["AbleToScale"] == ("False", "FailedUpdateScale")
    assert await world.sync(60) == 6


async def test_a_refused_write_is_reported_as_without_a_copy():
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    forbidden = StatusError("no", code=403, reason="Forbidden")
    world.kube.put_answers = [forbidden]
    await world.sync(60)
    assert world.conditions()["AbleToScale"] == ("False", "FailedUpdateScale")
    assert world.kube.put_answers == [], "it is sent once"
    assert world.replicas == 3


async def test_after_a_write_the_scale_is_read_although_the_watch_is_behind():
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    behind = str(world.version)
    world.watched_version = lambda: behind
    assert await world.sync(60) == 6
    assert await world.sync(60) == 6
    assert world.status()["currentReplicas"] == 6


async def test_a_new_target_of_the_autoscaler_is_read():
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    reference = {**SPEC["scaleTargetRef"], "name": "other"}
    world.autoscalers.by_key["shop/web"] = autoscaler(spec={**SPEC, "scaleTargetRef": reference})
    await world.sync(30)
    assert world.conditions()["AbleToScale"] == ("False", "FailedGetScale")


async def test_a_process_that_leads_again_reads_the_scale():
    world = World(copies=True)
    world.scaled(3)
    await world.sync(30)
    world.reconciler.leave()
    await world.sync(30)
    assert scale_reads(world) == 2


steps = st.lists(
    st.tuples(st.integers(0, 12), st.none() | st.integers(0, 12)), min_size=1, max_size=20
)


async def counts(world, steps):
    """The replicas after each reconcile; before some of them a user scales the target."""
    world.scaled(3)
    found = []
    for load, by_user in steps:
        if by_user is not None:
            world.scaled(by_user)
        found.append(await world.sync(10 * load))
    return found


@few_examples
@given(steps=steps)
def test_with_and_without_copies_the_counts_are_the_same(steps):
    with_copies, without = (
        World(copies=copies, object=autoscaler(spec=NO_WINDOW)) for copies in (True, False)
    )
    assert asyncio.run(counts(with_copies, steps)) == asyncio.run(counts(without, steps))
    assert scale_writes(with_copies) == scale_writes(without)
    assert scale_reads(with_copies) <= scale_reads(without)


@pytest.mark.deviation("shared-metric-requests")
@pytest.mark.parametrize("copies", [True, False])
async def test_after_a_rescale_no_metric_is_used_that_was_requested_before_it(copies):
    """It was measured on other replicas, and together with the pods of now it would be counted twice."""
    world = World(copies=copies)
    world.scaled(3)
    await world.sync(30)
    assert world.measurements.since_seconds[-1] == -math.inf
    assert await world.sync(60) == 6
    scaled_at_seconds = world.monotonic_seconds
    await world.sync(60, elapsed=0.5)
    assert world.measurements.since_seconds[-1] == scaled_at_seconds


@pytest.mark.parametrize("copies", [True, False])
async def test_after_a_refused_rescale_metrics_from_before_it_still_count(copies):
    world = World(copies=copies)
    world.scaled(3)
    await world.sync(30)
    forbidden = StatusError("no", code=403, reason="Forbidden")
    world.kube.put_answers = [forbidden]
    await world.sync(60)
    await world.sync(60, elapsed=0.5)
    assert world.measurements.since_seconds[-1] == -math.inf
