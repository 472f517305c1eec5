"""The invariants of the additional fields: what each of them promises, whatever happens."""

from collections.abc import Iterator

from tests.simulation.api_server import proposal
from tests.simulation.creations import created
from tests.simulation.history_invariants import ROUNDING_SECONDS, window_of
from tests.simulation.invariants import Run, Violation, awaited_before
from tests.simulation.journal import Measurement, ScaleWritten
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.recommendations import recommendation
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan


def dry_run(run: Run) -> Iterator[Violation]:
    """With `mode: DryRun` nothing is scaled."""
    for written, plan in _writes(run):
        if plan.fields.is_dry_run:
            yield _violation("dry run", written, "is in a dry run")


def suspended(run: Run) -> Iterator[Violation]:
    """Until a suspension ends, nothing is scaled in its direction, except to its own count."""
    for written, plan in _writes(run):
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
            yield _violation("suspended", written, f"is suspended ({suspension.direction})")


def zero_after_cooldown(run: Run) -> Iterator[Violation]:
    """With `scaleToZero` a target goes to zero only after it had no load for the cooldown, without the time in which that was unknown.

    What its process had measured before another one owned the target does not count: that one measured it afterwards.
    """
    for written, plan in _writes(run):
        fields, current = plan.fields, written.read.replicas
        if fields.cooldown_seconds is None or written.after > 0 or current == 0:
            continue
        if run.is_forced(written):
            continue
        since = run.journal.owned_since(written.process, written.target, written.sent_at)
        measured = [
            each
            for each in awaited_before(run, written, since or 0.0)
            if each.group == EXTERNAL and each.at < written.sent_at
        ]
        problem = _load_before_zero(plan, measured, written.sent_at)
        if problem:
            yield _violation("zero after cooldown", written, problem)


def _load_before_zero(
    plan: AutoscalerPlan, measured: list[Measurement], written_at: float
) -> str | None:
    """What these measurements have against a zero that is written at this time; None if nothing."""
    fields = plan.fields
    missing_seconds = (fields.cooldown_seconds or 0) - ROUNDING_SECONDS
    until = written_at
    for each in reversed(measured):
        if missing_seconds <= 0:
            return None
        if each.value is None:
            if until == written_at:
                return f"had an unknown load at {each.at:.1f} s"
            # It is not known exactly when the cooldown has waited.
            missing_seconds -= ROUNDING_SECONDS
        elif each.value > (fields.activation or 0):
            return f"had load at {each.at:.1f} s, and {missing_seconds:.1f} s of the cooldown were left"
        else:
            missing_seconds -= until - each.at
        until = each.at
    return None


def zero_without_load(run: Run) -> Iterator[Violation]:
    """With an activation value a target leaves zero only for more load than that."""
    for written, plan in _writes(run):
        fields = plan.fields
        if not fields.decides_on_activity or plan.groups != (EXTERNAL,):
            continue
        if written.read.replicas > 0 or written.after == 0 or run.is_forced(written):
            continue
        if run.falls_back(written, EXTERNAL):
            continue
        last = [*awaited_before(run, written)]
        if last and last[-1].value is not None and last[-1].value <= (fields.activation or 0):
            what = f"has a load of {last[-1].value:g} only"
            yield _violation("zero without load", written, what)


def held_in_rollout(run: Run) -> Iterator[Violation]:
    """With `rollout: HoldUp` nothing is scaled up while a rollout is in progress."""
    for written, plan in _writes(run):
        if plan.fields.rollout != "HoldUp" or written.after <= written.read.replicas:
            continue
        known = [each for each in run.journal.rollouts if each.target == plan.key]
        before = [each for each in known if each.at <= written.sent_at]
        if not before or not before[-1].is_in_progress or run.is_forced(written):
            continue
        if before[-1].at < run.known_since(written.at):
            yield _violation("held in rollout", written, f"rolls out since {before[-1].at:.1f} s")


def forecast_only_adds(run: Run) -> Iterator[Violation]:
    """With a forecast, a target never has less than its load of the moment wants."""
    for written, plan in _writes(run):
        if not plan.fields.forecast or plan.fields.has_candidate or run.is_forced(written):
            continue
        wanted = _wanted(run, written, plan)
        if wanted is None or written.after >= wanted:
            continue
        current = written.read.replicas
        # A reconcile that was brought forward may only add what the period has left.
        is_limited = (
            plan.has_behavior
            or plan.fields.ready_timeout_seconds is not None
            or run.scenario.is_streamed
        )
        if written.after < current or (not is_limited and written.after < max(2 * current, 4)):
            yield _violation("forecast only adds", written, f"wants {wanted} for its load")


def forecast_acts_only_with_mode_and_trust(run: Run) -> Iterator[Violation]:
    """In a dry run, or suspended, it adds nothing: nothing grows beyond the highest load that was measured.

    The count with which the autoscaler began is remembered as recommended for a window, also while a suspension sets another one.
    """
    for written, plan in _writes(run):
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
        if written.after > max(highest, _found_at_creation(run, plan, written)):
            why = f"never had a load for more than {highest}"
            yield _violation("forecast acts only with mode and trust", written, why)


def _found_at_creation(run: Run, plan: AutoscalerPlan, written: ScaleWritten) -> int:
    """The replicas of the target when its autoscaler was created, as long as they are remembered; then 0."""
    created_at = created(run, plan, written.at)
    remembered_until = created_at + window_of(run, plan) + 2 * run.period_of(plan)
    versions = [each for each in run.journal.targets[plan.key] if each.at <= created_at]
    return versions[-1].replicas if versions and written.at <= remembered_until else 0


def candidate_stays_aborted(run: Run) -> Iterator[Violation]:
    """Once it is aborted and that is stored, only the spec decides: nothing shrinks below what its load wants."""
    for written, plan in _writes(run):
        since = _aborted_at(run, plan, written.sent_at)
        if since is None or written.after >= written.read.replicas or run.is_forced(written):
            continue
        wanted = _wanted(run, written, plan)
        if wanted is not None and written.after < wanted:
            why = f"wants {wanted} for its load, and whose candidate was aborted at {since:.1f} s"
            yield _violation("candidate stays aborted", written, why)


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


def _wanted(run: Run, written: ScaleWritten, plan: AutoscalerPlan) -> int | None:
    """What the last load that the process has read wants, within the bounds; None if that was unknown."""
    if not plan.follows_a_queue:
        return None
    last = next(reversed([*awaited_before(run, written)]), None)
    if last is None or last.value is None or last.at < written.sent_at - run.period_of(plan):
        return None
    bounds = run.bounds_known(written)
    return min((recommendation(run, last), *(each.max_replicas for each in bounds)))


def _writes(run: Run) -> Iterator[tuple[ScaleWritten, AutoscalerPlan]]:
    for written in run.journal.scales:
        yield written, run.plan_of(written.target)


def _violation(invariant: str, written: ScaleWritten, why: str) -> Violation:
    what = f"{written.process} set {written.target} from {written.before} to {written.after}, which {why}"
    return Violation(invariant=invariant, at=written.at, what=what)
