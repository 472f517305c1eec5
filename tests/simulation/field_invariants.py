"""The invariants of the additional fields: what each of them promises, whatever happens."""

from collections.abc import Iterator

from tests.simulation.history_invariants import INVARIANTS, ROUNDING_SECONDS
from tests.simulation.invariants import Run, Violation
from tests.simulation.journal import ScaleWritten
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan


def dry_run(run: Run) -> Iterator[Violation]:
    """With `mode: DryRun` nothing is scaled."""
    for written, plan in _writes(run):
        if plan.fields.is_dry_run:
            yield _violation("dry run", written, "is in a dry run")


def suspended(run: Run) -> Iterator[Violation]:
    """Until a suspension ends, nothing is scaled in its direction, except to its own count."""
    for written, plan in _writes(run):
        suspension, current = plan.fields.suspension, run.replicas_read(written)
        if suspension is None or written.sent_at >= suspension.until - 2 * CLOCK_ERROR_SECONDS:
            continue
        if suspension.replicas is not None and written.after == suspension.replicas:
            continue
        direction = "Up" if written.after > current else "Down"
        if written.after != current and suspension.direction in ("Both", direction):
            yield _violation("suspended", written, f"is suspended ({suspension.direction})")


def zero_after_cooldown(run: Run) -> Iterator[Violation]:
    """With `scaleToZero` a target goes to zero only after it had no load for the cooldown."""
    for written, plan in _writes(run):
        fields, current = plan.fields, run.replicas_read(written)
        if fields.cooldown_seconds is None or written.after > 0 or current == 0:
            continue
        if run.is_forced(written):
            continue
        since = written.sent_at - fields.cooldown_seconds + ROUNDING_SECONDS
        active = [
            each.at
            for each in run.journal.measurements
            if each.target == plan.key and each.group == EXTERNAL
            and since < each.at < written.sent_at
            and (each.value is None or each.value > (fields.activation or 0))
            and each.process == written.process
        ]  # fmt: skip
        if active:
            what = f"had load, or an unknown one, at {active[-1]:.1f} s"
            yield _violation("zero after cooldown", written, what)


def zero_without_load(run: Run) -> Iterator[Violation]:
    """With an activation value a target leaves zero only for more load than that."""
    for written, plan in _writes(run):
        fields = plan.fields
        if not fields.decides_on_activity or plan.groups != (EXTERNAL,):
            continue
        if run.replicas_read(written) > 0 or written.after == 0 or run.is_forced(written):
            continue
        if run.falls_back(written, EXTERNAL):
            continue
        last = [
            each
            for each in run.journal.measurements
            if each.target == plan.key and each.process == written.process
            and each.at <= written.sent_at
        ]  # fmt: skip
        if last and last[-1].value is not None and last[-1].value <= (fields.activation or 0):
            what = f"has a load of {last[-1].value:g} only"
            yield _violation("zero without load", written, what)


def held_in_rollout(run: Run) -> Iterator[Violation]:
    """With `rollout: HoldUp` nothing is scaled up while a rollout is in progress."""
    for written, plan in _writes(run):
        if plan.fields.rollout != "HoldUp" or written.after <= run.replicas_read(written):
            continue
        known = [each for each in run.journal.rollouts if each.target == plan.key]
        before = [each for each in known if each.at <= written.sent_at]
        if not before or not before[-1].is_in_progress or run.is_forced(written):
            continue
        if before[-1].at < run.known_since(written.at):
            yield _violation("held in rollout", written, f"rolls out since {before[-1].at:.1f} s")


def _writes(run: Run) -> Iterator[tuple[ScaleWritten, AutoscalerPlan]]:
    for written in run.journal.scales:
        yield written, run.plan_of(written.target)


def _violation(invariant: str, written: ScaleWritten, why: str) -> Violation:
    what = f"{written.process} set {written.target} from {written.before} to {written.after}, which {why}"
    return Violation(invariant=invariant, at=written.at, what=what)


INVARIANTS += [dry_run, suspended, zero_after_cooldown, zero_without_load, held_in_rollout]
