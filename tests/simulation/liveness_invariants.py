"""The invariant of every period: an autoscaler that no fault disturbs is reconciled in each one, also while others are disturbed."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from tests.simulation.creations import left_at_zero_since
from tests.simulation.faults import FIRST_FAULT_SECONDS, METRIC_SOURCES, Fault
from tests.simulation.invariants import (
    EVERYTHING,
    RECOVERY_SECONDS,
    Run,
    Violation,
    deadline_seconds,
)
from tests.simulation.metrics_apis import CUSTOM
from tests.simulation.scenario import AutoscalerPlan

# Reconciles are this much late at most: a tenth of a period, and the time of the requests.
LATE_RATIO = 1.1
LATE_SECONDS = 0.5
# How long requests of a metric wait for a query that was sent before them.
JOINED_SECONDS = 10.0
# They disturb no autoscaler, or only their own one.
OF_ONE_AUTOSCALER = ("metrics", "user", "rival")
HARMLESS = ("pods", "clock-step", "rollout", "discovery", "memories", "reads", "rights")
HARMLESS_WRITES = ("events", "scalingmemories")


def reconciled_in_every_period(run: Run) -> Iterator[Violation]:
    """An autoscaler that no fault disturbs is reconciled in every period: one bad metric or namespace delays no other one."""
    for plan in run.scenario.autoscalers:
        longest = LATE_RATIO * run.period_of(plan) + LATE_SECONDS
        disturbed = sorted(
            [
                (each.at - longest, each.at + each.seconds + _recovery_seconds(run, plan, each))
                for each in run.faults
                if _disturbs(each, plan, run.scenario.kind.plural) or _hides_apis(run, each, plan)
            ]
            + _unseen(run, plan, longest)
        )
        moments = [
            each.at
            for each in run.journal.target_requests
            if each.target == plan.key and each.at > FIRST_FAULT_SECONDS
        ]
        for before, after in pairwise((FIRST_FAULT_SECONDS, *moments, run.scenario.end)):
            for begin, end in _undisturbed(before, after, disturbed):
                if end - begin > longest and run.bounds_of(plan.key, begin, EVERYTHING):
                    yield Violation(
                        invariant="reconciled in every period", at=begin,
                        what=f"{plan.key} was not reconciled for {end - begin:.1f} s",
                    )  # fmt: skip


def _undisturbed(
    begin: float, end: float, disturbed: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """What is left of a time without these."""
    for since, until in disturbed:
        if since > end:
            break
        if since > begin:
            yield begin, since
        begin = max(begin, until)
    if begin < end:
        yield begin, end


def _unseen(run: Run, plan: AutoscalerPlan, longest: float) -> list[tuple[float, float]]:
    """When the servers see nothing of a reconcile: also with streamed metrics, as long as the scale stays."""
    if plan.fields.is_dry_run or run.scenario.is_streamed:
        return [(0.0, EVERYTHING)]
    off_since = left_at_zero_since(run, plan)
    off = [] if off_since is None else [(off_since, EVERYTHING)]
    return suspended(run, plan, longest) + off


def suspended(run: Run, plan: AutoscalerPlan, longest: float) -> list[tuple[float, float]]:
    """When it may be held outside of its bounds, or at zero: then it reads no metric and writes no scale.

    A clock that is put back lets a suspension last longer.
    """
    suspension = plan.fields.suspension
    if suspension is None:
        return []
    back_seconds = sum(-min(each.amount, 0) for each in run.faults if each.kind == "clock-step")
    return [(0.0, suspension.until + back_seconds + longest)]


def _disturbs(fault: Fault, plan: AutoscalerPlan, kind: str) -> bool:
    """Whether reconciles of the autoscaler may be late because of the fault."""
    if fault.kind in OF_ONE_AUTOSCALER and not fault.how.startswith("lease-"):
        groups = (*plan.groups, CUSTOM) if plan.fields.deletes_least_busy else plan.groups
        return fault.where in ("all", plan.key, *groups)
    if fault.kind in METRIC_SOURCES:
        return plan.by_adapter
    if fault.kind == "writes":
        return fault.where not in HARMLESS_WRITES
    if fault.kind == "watches":
        # A reconcile waits until its process sees the status that it has written, as upstream's since 1.37.
        return fault.where == kind
    return fault.kind not in HARMLESS


def _hides_apis(run: Run, fault: Fault, plan: AutoscalerPlan) -> bool:
    """Whether a process cannot learn where the target or a metric is served, which it has not read before the fault."""
    if fault.kind != "discovery":
        return False
    owners = {run.journal.owner_of(plan.namespace, fault.at)} | {
        each.process
        for each in run.journal.held(plan.namespace)
        if fault.at <= each.at <= fault.at + fault.seconds
    }
    have_read = {
        (each.process, each.group)
        for each in run.journal.target_requests
        if each.target == plan.key and each.at < fault.at
    }
    return not have_read.issuperset(product(owners - {""}, plan.groups))


def _recovery_seconds(run: Run, plan: AutoscalerPlan, fault: Fault) -> float:
    """A metric that is there again is read in the next period; one that was requested before has a deadline.

    A query that was sent before, and is slow or hangs, is waited for by requests of its metric that are sent soon after it.
    """
    if fault.kind not in ("metrics", *METRIC_SOURCES):
        return RECOVERY_SECONDS
    joined_seconds = 0.0
    if fault.how == "slow":
        joined_seconds = min(fault.amount, JOINED_SECONDS)
    elif fault.how == "hang" and fault.kind in METRIC_SOURCES:
        joined_seconds = JOINED_SECONDS
    return deadline_seconds(run, plan) + joined_seconds
