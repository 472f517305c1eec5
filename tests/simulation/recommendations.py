"""What the HPA rules recommend on a load that a process has measured, as far as the journal shows what it knew."""

import math

from tests.simulation.api_server import proposal
from tests.simulation.invariants import Run
from tests.simulation.journal import Measurement
from tests.simulation.metrics_apis import CANDIDATE_RATIO, UNITS_PER_REPLICA

TOLERANCE = 0.1


def target_ratio(run: Run, measured: Measurement) -> float:
    """Of the targets of a candidate and the spec: the result is between both, and the candidate wants less."""
    return CANDIDATE_RATIO if run.plan_of(measured.target).fields.has_candidate else 1.0


def recommendation(run: Run, measured: Measurement, ratio: float = 1.0) -> int:
    """External metrics by average value, with so many times the target. Upstream: GetExternalPerPodMetricReplicas."""
    load = measured.value or 0.0
    fields = run.plan_of(measured.target).fields
    if fields.decides_on_activity and load <= (fields.activation or 0):
        return 0
    load /= ratio
    known = run.targets_known(measured.target, measured.sent_at)
    kept = [each.pods for each in known if _is_tolerated(load, each.pods)]
    held = [each.replicas for each in known] if _is_held_up(run, measured) else []
    return min((proposal(load), *kept, *held))


def _is_held_up(run: Run, measured: Measurement) -> bool:
    """Whether a rollout may have been in progress, as far as a process knew then, during which nothing more is recommended."""
    if run.plan_of(measured.target).fields.rollout != "HoldUp":
        return False
    changes = [each for each in run.journal.rollouts if each.target == measured.target]
    ends = [*(each.at for each in changes[1:]), math.inf]
    return any(
        each.is_in_progress and each.at <= measured.at and end >= run.known_since(measured.sent_at)
        for each, end in zip(changes, ends, strict=False)
    )


def _is_tolerated(load: float, pods: int) -> bool:
    return pods > 0 and abs(load / (UNITS_PER_REPLICA * pods) - 1) <= TOLERANCE + 1e-9
