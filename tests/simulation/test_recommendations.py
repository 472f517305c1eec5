"""What a scaler recommends on a measured load, as the invariants of memory compute it."""

import msgspec
import pytest

from tests.simulation.invariants import Run
from tests.simulation.journal import Journal, Measurement, Rollout, TargetVersion
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.recommendations import recommendation
from tests.simulation.scenario import made_from

SCENARIO = made_from(0)
PLAN = SCENARIO.autoscalers[0]
MEASURED_AT = 100.0


def run_with(
    *, replicas: int, pods: int, rollout: str = "", rollouts: tuple[Rollout, ...] = ()
) -> Run:
    plan = msgspec.structs.replace(
        PLAN, fields=msgspec.structs.replace(PLAN.fields, rollout=rollout)
    )
    scenario = msgspec.structs.replace(SCENARIO, autoscalers=(plan,))
    journal = Journal(())
    journal.targets[PLAN.key] = [TargetVersion(at=0.0, version="1", replicas=replicas, pods=pods)]
    journal.rollouts += rollouts
    return Run(scenario=scenario, faults=(), journal=journal)


def recommended(run: Run, load: float) -> int:
    measured = Measurement(
        at=MEASURED_AT, sent_at=MEASURED_AT, process="scaler-a.1", target=PLAN.key,
        group=EXTERNAL, document=None, value=load,
    )  # fmt: skip
    return recommendation(run, measured)


def rollout(at: float, *, is_in_progress: bool) -> Rollout:
    return Rollout(at=at, target=PLAN.key, is_in_progress=is_in_progress)


def test_pods_within_the_tolerance_are_kept_also_those_of_a_rollout():
    """The scale of a Deployment counts the surge pod: 177 is within 10% of what 17 pods serve."""
    assert recommended(run_with(replicas=16, pods=17), 177.2) == 17
    assert recommended(run_with(replicas=16, pods=16), 177.2) == 18


BEGUN = rollout(50.0, is_in_progress=True)


@pytest.mark.parametrize(
    ("policy", "rollouts", "expected"),
    [
        pytest.param("HoldUp", (BEGUN,), 5, id="in progress"),
        pytest.param("HoldUp", (BEGUN, rollout(60.0, is_in_progress=False)), 9, id="ended"),
        pytest.param("HoldUp", (rollout(101.0, is_in_progress=True),), 9, id="begins later"),
        pytest.param("IgnoreSurge", (BEGUN,), 9, id="not held up"),
    ],
)
def test_a_rollout_that_holds_up_recommends_what_there_is(policy, rollouts, expected):
    run = run_with(replicas=5, pods=5, rollout=policy, rollouts=rollouts)
    assert recommended(run, 90.0) == expected
