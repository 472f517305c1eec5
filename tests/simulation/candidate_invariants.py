"""The invariant of candidates that are aborted: from then on only the spec decides."""

from collections.abc import Iterator

from tests.simulation.creations import created
from tests.simulation.demands import certain_replicas, unmet_demand
from tests.simulation.field_invariants import violation, wanted, writes
from tests.simulation.fields import Fields
from tests.simulation.invariants import Run, Violation
from tests.simulation.metrics_apis import UNITS_PER_REPLICA, total
from tests.simulation.recommendations import TOLERANCE
from tests.simulation.reconciles import Reconcile, reconciles_of
from tests.simulation.scenario import AutoscalerPlan


def candidate_stays_aborted(run: Run) -> Iterator[Violation]:
    """Once it is aborted and that is stored, only the spec decides: nothing shrinks below what its load wants, or stays there."""
    for written, plan in writes(run):
        since = _aborted_at(run, plan, written.sent_at)
        if since is None or written.after >= written.read.replicas or run.is_forced(written):
            continue
        least = wanted(run, written, plan)
        if least is not None and written.after < least:
            why = f"wants {least} for its load, and whose candidate was aborted at {since:.1f} s"
            yield violation("candidate stays aborted", written, why)
    for plan in run.scenario.autoscalers:
        if run.scenario.is_streamed or not _has_only_a_candidate(plan.fields):
            continue
        found = unmet_demand(
            run, plan, reconciles_of(run, plan), lambda each: _needs_more(run, each),
            waits_seconds=_limited_seconds(plan) + 2 * run.period_of(plan),
        )  # fmt: skip
        if found is not None:
            yield Violation(invariant="candidate stays aborted", at=found.at, what=found.what)


def _has_only_a_candidate(fields: Fields) -> bool:
    """Whether it can be aborted, and nothing else that an HPA lacks may hold back a scale-up."""
    can_be_aborted = fields.has_candidate and fields.aborts_above is not None
    return can_be_aborted and not fields.sets_more_than("has_candidate", "aborts_above")


def _needs_more(run: Run, reconcile: Reconcile) -> str:
    """For which load a reconcile must scale up, in words; empty if it need not, or if the candidate may still decide."""
    plan, at = reconcile.plan, reconcile.until
    bounds = run.bounds_known_by(reconcile.process, plan.key, at, (reconcile.at, at))
    loads = [total(each) for answers in reconcile.answers for each in answers]
    current = certain_replicas(run, plan, reconcile)
    if not current or not bounds or current >= min(each.max_replicas for each in bounds):
        return ""
    enough = current * UNITS_PER_REPLICA * (1 + TOLERANCE)
    if any(each is None or each <= enough for each in loads):
        return ""
    since = _aborted_at(run, plan, reconcile.at)
    return (
        ""
        if since is None
        else f"{current} replicas, a load of {loads[0]}, and aborted at {since:.1f} s"
    )


def _limited_seconds(plan: AutoscalerPlan) -> float:
    """For how long a window and a policy may hold back a scale-up."""
    if plan.up is None:
        return 0.0
    return (plan.up.window_seconds or 0) + max(each.period_seconds for each in plan.up.policies)


def _aborted_at(run: Run, plan: AutoscalerPlan, until: float) -> float | None:
    """When the first status was written after a load above the limit."""
    above, begin = plan.fields.aborts_above, created(run, plan, until)
    if above is None or not plan.fields.has_candidate:
        return None
    for each in run.journal.measurements:
        if each.target != plan.key or not begin < each.at < until or (each.value or 0.0) <= above:
            continue
        for status in run.journal.statuses:
            # What is read within one reconcile is written at its end.
            is_its_own = status.key == plan.key and status.process == each.process
            if is_its_own and each.at + run.period_of(plan) < status.at < until:
                return status.at
    return None
