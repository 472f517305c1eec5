"""The invariant of the end: some time after the last fault, everything is as in a run without faults."""

import math
from collections.abc import Iterator

from tests.simulation.api_server import proposal
from tests.simulation.creations import left_at_zero_since
from tests.simulation.history_invariants import limit_of, window_of
from tests.simulation.invariants import Run, Violation
from tests.simulation.metrics_apis import CANDIDATE_RATIO, RESOURCE, UNITS_PER_REPLICA
from tests.simulation.recommendations import TOLERANCE
from tests.simulation.scenario import AutoscalerPlan

# How many of the last periods may be part of one swing, beside the window that delays a scale-up.
SWING_PERIODS = 12
# A forecast expects at most so much of the highest load that there has been (docs/forecast-rules.md).
EXPECTED_RATIO = 1.1


def where_undisturbed(run: Run) -> Iterator[Violation]:
    """At the end the replicas are what the load asks for, as in a run without faults; none is stuck at zero.

    A forecast may still expect more of a load that has risen a few minutes ago.
    """
    for plan in run.scenario.autoscalers:
        bounds = run.bounds_of(plan.key, run.scenario.end, run.scenario.end)
        found = _last_replicas(run, plan)
        # Pods that seem to have started in the future are not ready yet, for upstream as well.
        skewed = RESOURCE in plan.groups and any(each.kind == "clock-step" for each in run.faults)
        if len(bounds) != 1 or skewed or plan.fields.is_dry_run:
            continue
        if _has_just_rolled_out(run, plan) or _is_limited(run, plan):
            continue
        if left_at_zero_since(run, plan) is not None:
            continue
        load, low, high = plan.load.values[-1], bounds[0].min_replicas, bounds[0].max_replicas
        wanted = min(max(proposal(load), low), high)
        if plan.fields.has_candidate:
            is_settled = _is_between(load, found[-1], low, high)
        else:
            is_settled = any(_is_settled(load, each, low, high) for each in found)
        if plan.fields.forecast == "Add":
            most = min(proposal(EXPECTED_RATIO * max(plan.load.values)), high)
            is_settled |= wanted <= found[-1] <= most
        if not is_settled:
            yield Violation(
                invariant="where undisturbed", at=run.scenario.end,
                what=f"{plan.key} ends at {found[-1]}, its load asks for {wanted}",
            )  # fmt: skip


def _last_replicas(run: Run, plan: AutoscalerPlan) -> list[int]:
    """Those at the end. Metrics of the pods themselves swing while pods start, in a run without faults as well: all of a swing."""
    versions = run.journal.targets[plan.key]
    if plan.follows_a_queue:
        return [versions[-1].replicas]
    window_seconds = (plan.up.window_seconds or 0) if plan.up else 0
    swing = run.scenario.end - SWING_PERIODS * run.scenario.period - window_seconds
    ends = [*(each.at for each in versions[1:]), math.inf]
    return [each.replicas for each, end in zip(versions, ends, strict=True) if end > swing]


def _has_just_rolled_out(run: Run, plan: AutoscalerPlan) -> bool:
    """Whether the pods of a rollout may have counted a moment ago: one of slow pods takes longer than a simulation."""
    changes = [each for each in run.journal.rollouts if each.target == plan.key]
    settled_at = run.scenario.end - max(window_of(run, plan), 60.0) - 5 * run.scenario.period
    return bool(changes) and (changes[-1].is_in_progress or changes[-1].at > settled_at)


def _is_limited(run: Run, plan: AutoscalerPlan) -> bool:
    """Whether policies allowed the last change only a moment ago: two pods a minute take longer than a simulation."""
    changes = [each for each in run.journal.scales if each.target == plan.key]
    if not changes:
        return False
    last = changes[-1]
    rules = plan.up if last.after > last.before else plan.down
    if rules is None:
        return False
    longest = max(each.period_seconds for each in rules.policies) + 2 * run.period_of(plan)
    return last.after == limit_of(plan, last.before, last, changes[:-1]) and (
        last.at > run.scenario.end - longest
    )


def _is_between(load: float, replicas: int, low: int, high: int) -> bool:
    """Whether both policies together leave them alone: between the counts of each, with its tolerance."""
    least = proposal(load / CANDIDATE_RATIO / (1 + TOLERANCE + 0.02))
    most = proposal(load / (1 - TOLERANCE - 0.02))
    return min(max(least, low), high) <= replicas <= min(max(most, low), high)


def _is_settled(load: float, replicas: int, low: int, high: int) -> bool:
    """Whether an autoscaler that finds this load on so many replicas leaves them alone."""
    if replicas == min(max(proposal(load), low), high):
        return True
    in_tolerance = replicas and abs(load / (UNITS_PER_REPLICA * replicas) - 1) <= TOLERANCE + 0.02
    return bool(in_tolerance) and low <= replicas <= high
