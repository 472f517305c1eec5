"""No fault makes the policies allow the same change twice."""

import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import SCALE_PATH, SPEC, World, autoscaler
from wire.api.status import NotSent, Unavailable, forbidden, internal_error

BOTH_KINDS = pytest.mark.parametrize("kind", [HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS])
PERIOD_SECONDS = 120


def limited(kind=LOAD_AUTOSCALERS, *, copies=False, **extra):
    """One policy per direction: 2 pods in 120 s up, 1 pod in 120 s down, without windows."""
    behavior = {
        "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": PERIOD_SECONDS}]},
        "scaleDown": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": PERIOD_SECONDS}],
        },
    }
    spec = {**SPEC, "behavior": behavior, **extra}
    return World(object=autoscaler(spec=spec), kind=kind, copies=copies)


async def scaled_without_an_answer(world, queue, replicas):
    """The write is applied, but the scaler gets no answer."""
    world.kube.put_answers = [Unavailable("timeout")]
    await world.sync(queue)
    assert len(world.kube.put_answers) == 0
    world.scaled(replicas)


@pytest.mark.deviation("unconfirmed-scale")
@BOTH_KINDS
async def test_a_scale_up_that_was_applied_without_an_answer_uses_up_the_policy(kind):
    world = limited(kind)
    world.scaled(1)
    await world.sync(10)
    await scaled_without_an_answer(world, 90, 3)
    assert await world.sync(90) == 3
    assert await world.sync(90, elapsed=PERIOD_SECONDS) == 5


@BOTH_KINDS
@pytest.mark.parametrize("stepped_seconds", [-3600, -60, 60, 3600])
async def test_a_step_of_the_clock_after_a_write_without_an_answer_changes_no_budget(
    kind, stepped_seconds
):
    world = limited(kind)
    world.scaled(1)
    await world.sync(10)
    await scaled_without_an_answer(world, 90, 3)
    world.now_seconds += stepped_seconds
    assert await world.sync(90) == 3
    assert await world.sync(90, elapsed=PERIOD_SECONDS - 20) == 3
    assert await world.sync(90, elapsed=20) == 5


async def test_a_candidate_counts_a_write_without_an_answer_whatever_its_clock_does():
    candidate = {"steps": [{"weightPercent": 100, "holdSeconds": 600}]}
    world = limited(candidate=candidate)
    world.scaled(1)
    await world.sync(10)
    await scaled_without_an_answer(world, 90, 3)
    world.now_seconds += 3600
    assert await world.sync(90) == 3
    assert await world.sync(90, elapsed=PERIOD_SECONDS) == 5


@BOTH_KINDS
async def test_a_scale_down_that_was_applied_without_an_answer_uses_up_the_policy(kind):
    world = limited(kind)
    world.scaled(8)
    await world.sync(80)
    await scaled_without_an_answer(world, 10, 7)
    assert await world.sync(10) == 7
    assert await world.sync(10, elapsed=PERIOD_SECONDS) == 6


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("timeout"),
        internal_error("no"),
        forbidden("no"),
    ],
    ids=["no answer", "500", "403"],
)
async def test_a_write_that_was_not_applied_uses_up_nothing(error):
    world = limited()
    world.scaled(1)
    await world.sync(10)
    world.kube.put_answers = [error]
    assert await world.sync(90) == 1
    assert await world.sync(90) == 3


async def test_a_count_that_a_user_set_after_a_write_without_an_answer_uses_up_nothing():
    world = limited()
    world.scaled(1)
    await world.sync(10)
    await scaled_without_an_answer(world, 90, 2)
    assert await world.sync(90) == 4


async def scaled_but_sent_again(world, queue, replicas):
    """The write is applied, its response is lost, and the client sends it again: a conflict with the first one."""
    behind = str(world.version)
    world.watched_version = lambda: behind
    world.scaled(replicas)
    refused = len(world.kube.put)
    await world.sync(queue)
    assert len(world.kube.put) > refused, "the write on the basis of a copy"
    world.watched_version = lambda: str(world.version)


@BOTH_KINDS
@pytest.mark.parametrize(
    ("before", "queue", "after", "later"),
    [pytest.param(1, 90, 3, 5, id="scale-up"), pytest.param(8, 10, 7, 6, id="scale-down")],
)
async def test_a_scale_that_conflicts_with_itself_uses_up_the_policy(
    kind, before, queue, after, later
):
    world = limited(kind, copies=True)
    world.scaled(before)
    await world.sync(10 * before)
    await scaled_but_sent_again(world, queue, after)
    assert world.replicas == after
    assert await world.sync(queue) == after
    assert await world.sync(queue, elapsed=PERIOD_SECONDS) == later


async def test_a_write_that_conflicts_with_itself_uses_up_the_policy_if_the_scale_cannot_be_read_then():
    world = limited(copies=True)
    world.scaled(8)
    await world.sync(80)
    scale = world.kube.answers[SCALE_PATH]
    world.kube.answers[SCALE_PATH] = Unavailable("no route")
    world.version += 1
    behind = str(world.version - 1)
    world.watched_version = lambda: behind
    await world.sync(10)
    world.kube.answers[SCALE_PATH] = scale
    world.watched_version = lambda: str(world.version)
    world.scaled(7)
    assert await world.sync(10) == 7


async def test_a_write_that_conflicts_with_a_user_uses_up_nothing():
    world = limited(copies=True)
    world.scaled(1)
    await world.sync(10)
    await scaled_but_sent_again(world, 90, 2)
    assert world.replicas == 4


@pytest.mark.deviation("unconfirmed-scale")
@pytest.mark.parametrize("answered", [True, False], ids=["answered", "answer lost"])
async def test_a_process_that_dies_after_it_scaled_uses_up_the_policy(answered):
    world = limited()
    world.scaled(1)
    await world.sync(10)
    world.kube.put_answers = [b"{}" if answered else Unavailable("killed"), Unavailable("killed")]
    await world.sync(90)
    world.scaled(3)
    world.restart()
    assert await world.sync(90) == 3
    assert await world.sync(90, elapsed=PERIOD_SECONDS) == 5


async def test_after_a_restart_a_change_that_is_in_the_status_counts_once():
    world = limited()
    world.scaled(1)
    await world.sync(10)
    assert await world.sync(90) == 3
    world.restart()
    assert await world.sync(90, elapsed=PERIOD_SECONDS - 15) == 3
    assert await world.sync(90, elapsed=30) == 5


async def test_a_restart_after_a_failed_reconcile_uses_up_nothing():
    """The status then shows a desired count that was never computed."""
    world = limited()
    world.scaled(3)
    await world.sync(None)
    world.restart()
    assert await world.sync(90) == 5


async def test_a_leader_with_a_slower_clock_does_not_scale_down_by_an_old_scale_up():
    """A scale-up that seems recent lowers the start of the period, and with it the limit."""
    world = limited()
    world.scaled(5)
    await world.sync(50)
    assert await world.sync(90) == 7
    for _ in range(PERIOD_SECONDS // 15 + 1):
        await world.sync(70)
    world.restart()
    world.now_seconds -= 3600
    assert await world.sync(10) == 6


async def test_a_leader_with_a_slower_clock_allows_no_change_again():
    world = limited()
    world.scaled(5)
    await world.sync(50)
    assert await world.sync(90) == 7
    world.restart()
    world.now_seconds -= 3600
    assert await world.sync(90) == 7
    assert await world.sync(90, elapsed=PERIOD_SECONDS) == 9


@pytest.mark.deviation("percent-of-zero")
async def test_a_percent_policy_leaves_zero():
    """Any percentage of 0 is 0, and scaling to zero is a normal setting of a LoadAutoscaler."""
    up = {"scaleUp": {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 15}]}}
    down = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    spec = {**SPEC, "minReplicas": 0, "behavior": up | down}
    world = World(object=autoscaler(spec=spec))
    world.scaled(1)
    assert await world.sync(0) == 0
    assert [await world.sync(90) for _ in range(4)] == [1, 2, 3, 5]


async def test_a_disabled_scale_up_does_not_leave_zero():
    behavior = {
        "scaleUp": {"selectPolicy": "Disabled"},
        "scaleDown": {"stabilizationWindowSeconds": 0},
    }
    world = World(object=autoscaler(spec={**SPEC, "minReplicas": 0, "behavior": behavior}))
    world.scaled(1)
    assert await world.sync(0) == 0
    assert await world.sync(90) == 0


@pytest.mark.deviation("unconfirmed-scale")
@BOTH_KINDS
@pytest.mark.parametrize("copies", [False, True])
async def test_a_write_that_was_not_sent_uses_up_no_policy_when_a_user_makes_the_same_change(
    kind, copies
):
    world = limited(kind, copies=copies)
    world.scaled(1)
    await world.sync(10)
    world.kube.put_answers = [NotSent("connection refused")]
    await world.sync(90)
    assert world.replicas == 1
    world.scaled(3)
    assert await world.sync(90) == 5


@BOTH_KINDS
async def test_replicas_that_were_there_before_the_scale_could_be_read_use_up_nothing_after_a_restart(
    kind,
):
    world = limited(kind)
    world.scaled(6)
    scale = world.kube.answers[SCALE_PATH]
    world.kube.answers[SCALE_PATH] = Unavailable("no route")
    await world.sync(90)
    world.restart()
    world.kube.answers[SCALE_PATH] = scale
    assert await world.sync(90) == 8
