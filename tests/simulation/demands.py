"""What a process must do: the same change is demanded by one reconcile after the other, until it writes a scale."""

from collections.abc import Callable, Iterable

import msgspec

from tests.simulation.invariants import Run
from tests.simulation.journal import TargetVersion
from tests.simulation.reconciles import Reconcile
from tests.simulation.scenario import AutoscalerPlan

# A write follows a reconcile within this time: it may be repeated, and kube-apiserver may be slow.
WRITE_SECONDS = 3.0
# An answer that took longer may be too old to be acted on.
SLOW_SECONDS = 2.0

Demanded = Callable[[Reconcile], str]
"""Which change a reconcile demands; empty if none is certain."""


class UnmetDemand(msgspec.Struct, frozen=True):
    """When a change was overdue, and which one."""

    at: float
    what: str


def unmet_demand(
    run: Run,
    plan: AutoscalerPlan,
    reconciles: Iterable[Reconcile],
    demanded: Demanded,
    *,
    waits_seconds: float,
) -> UnmetDemand | None:
    """The first one: reconcile after reconcile of a process demands a change for longer than that, and it writes no scale."""
    first: Reconcile | None = None
    for each in reconciles:
        demand = demanded(each)
        if not demand:
            first = None
            continue
        if first is None or first.process != each.process:
            first = each
        writes = run.journal.scale_writes(each.process, plan.key)
        if any(first.at <= at <= each.until + WRITE_SECONDS for at in writes):
            first = None
        elif each.until - first.at > waits_seconds + WRITE_SECONDS:
            what = f"{each.process} has not written the scale of {plan.key} since {first.at:.1f} s: {demand}"
            return UnmetDemand(at=each.at, what=what)
    return None


def certain_replicas(run: Run, plan: AutoscalerPlan, reconcile: Reconcile) -> int | None:
    """Those of the target, if its owner has got all answers soon, and knows nothing older; else None."""
    at = reconcile.until
    owner = run.journal.owner_of(plan.namespace, at)
    is_slow = at - reconcile.at > SLOW_SECONDS
    if owner != reconcile.process or is_slow or run.may_have_rival(plan.key, at):
        return None
    found = {each.replicas for each in versions_around(run, plan, reconcile)}
    return found.pop() if len(found) == 1 else None


def versions_around(run: Run, plan: AutoscalerPlan, reconcile: Reconcile) -> list[TargetVersion]:
    """Those of its target that a reconcile may have known, until the write that follows it."""
    return [
        *run.targets_known(plan.key, reconcile.at),
        *(
            each
            for each in run.journal.targets[plan.key]
            if reconcile.at < each.at <= reconcile.until + WRITE_SECONDS
        ),
    ]
