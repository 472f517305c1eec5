"""The invariants of the additional fields: what each of them promises, whatever happens."""

from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.api_server import proposal
from tests.simulation.creations import created
from tests.simulation.history_invariants import window_of
from tests.simulation.invariants import Run, Violation, awaited_before
from tests.simulation.journal import ScaleWritten
from tests.simulation.recommendations import recommendation
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan


def dry_run(run: Run) -> Iterator[Violation]:
    """With `mode: DryRun` nothing is scaled."""
    for written, plan in writes(run):
        if plan.fields.is_dry_run:
            yield violation("dry run", written, "is in a dry run")


def suspended(run: Run) -> Iterator[Violation]:
    """Until a suspension ends, nothing is scaled in its direction, except to its own count."""
    for written, plan in writes(run):
        suspension, current = plan.fields.suspension, written.read.replicas
        if suspension is None:
            continue
        # It ends by the wall clock of the process.
        read_at = written.sent_at + run.clock_offsets(written)[1]
        if read_at >= suspension.until - 2 * CLOCK_ERROR_SECONDS:
            continue
        if suspension.replicas is not None and written.after == suspension.replicas:
            continue
        direction = "Up" if written.after > current else "Down"
        if written.after != current and suspension.direction in ("Both", direction):
            yield violation("suspended", written, f"is suspended ({suspension.direction})")


def held_in_rollout(run: Run) -> Iterator[Violation]:
    """With `rollout: HoldUp` nothing is scaled up while a rollout is in progress."""
    for written, plan in writes(run):
        if plan.fields.rollout != "HoldUp" or written.after <= written.read.replicas:
            continue
        known = [each for each in run.journal.rollouts if each.target == plan.key]
        before = [each for each in known if each.at <= written.sent_at]
        if not before or not before[-1].is_in_progress or run.is_forced(written):
            continue
        if before[-1].at < run.known_since(written.at):
            yield violation("held in rollout", written, f"rolls out since {before[-1].at:.1f} s")


def forecast_only_adds(run: Run) -> Iterator[Violation]:
    """With a forecast, a target never has less than its load of the moment wants."""
    for written, plan in writes(run):
        if not plan.fields.forecast or plan.fields.has_candidate or run.is_forced(written):
            continue
        least = wanted(run, written, plan)
        if least is None or written.after >= least:
            continue
        current = written.read.replicas
        # A reconcile that was brought forward may only add what the period has left.
        is_limited = (
            plan.has_behavior
            or plan.fields.ready_timeout_seconds is not None
            or run.scenario.is_streamed
        )
        if written.after < current or (not is_limited and written.after < max(2 * current, 4)):
            yield violation("forecast only adds", written, f"wants {least} for its load")


def forecast_acts_only_with_mode_and_trust(run: Run) -> Iterator[Violation]:
    """In a dry run, or suspended, it adds nothing: nothing grows beyond the highest load that was measured.

    The count with which the autoscaler began is remembered as recommended for a window, also while a suspension sets another one.
    """
    for written, plan in writes(run):
        fields = plan.fields
        if fields.forecast in ("", "Add") or fields.fallback is not None:
            continue
        if written.after <= max(written.read.replicas, 1) or run.is_forced(written):
            continue
        if not plan.follows_a_queue:
            continue
        highest = max(
            (
                proposal(each.value)
                for each in run.journal.measurements
                if each.target == plan.key and each.value is not None and each.at <= written.sent_at
            ),
            default=0,
        )
        if written.after > max(highest, _found_at_begin(run, plan, written)):
            why = f"never had a load for more than {highest}"
            yield violation("forecast acts only with mode and trust", written, why)


def _found_at_begin(run: Run, plan: AutoscalerPlan, written: ScaleWritten) -> int:
    """The most replicas that the target had when its reconciles began, as long as they are remembered; else 0.

    They begin with the autoscaler, and again after a time without any, as beside a rival.
    """
    period = run.period_of(plan)
    remembered_since = written.at - window_of(run, plan) - 2 * period
    measured = [each.at for each in run.journal.measurements if each.target == plan.key]
    created_at = created(run, plan, written.at)
    pauses = [(created_at, created_at)]
    pauses += [(end, begin) for end, begin in pairwise(measured) if begin > end + 1.5 * period]
    found = [0]
    for end, begin in pauses:
        if remembered_since <= begin <= written.at:
            versions = [each for each in run.journal.targets[plan.key] if each.at <= begin]
            before = [each.replicas for each in versions if each.at <= end]
            found += before[-1:] + [each.replicas for each in versions if each.at > end]
    return max(found)


def wanted(run: Run, written: ScaleWritten, plan: AutoscalerPlan) -> int | None:
    """The replicas that the last load wants which the process has read, within the bounds; None if that was unknown."""
    if not plan.follows_a_queue:
        return None
    last = next(reversed([*awaited_before(run, written)]), None)
    if last is None or last.value is None or last.at < written.sent_at - run.period_of(plan):
        return None
    bounds = run.bounds_known(written)
    return min((recommendation(run, last), *(each.max_replicas for each in bounds)))


def writes(run: Run) -> Iterator[tuple[ScaleWritten, AutoscalerPlan]]:
    """Each written count, with the autoscaler that its target has."""
    for written in run.journal.scales:
        yield written, run.plan_of(written.target)


def violation(invariant: str, written: ScaleWritten, why: str) -> Violation:
    """A count that should not have been written; `why`: what is wrong with its target."""
    what = f"{written.process} set {written.target} from {written.before} to {written.after}, which {why}"
    return Violation(invariant=invariant, at=written.at, what=what)
