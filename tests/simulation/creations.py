"""When autoscalers were created, and until when a process may know only an earlier one of the same name."""

from collections.abc import Iterator, Sequence

from tests.simulation.invariants import Run
from tests.simulation.journal import Bounds, Restored, ScaleWritten
from tests.simulation.scenario import AutoscalerPlan


def created(run: Run, plan: AutoscalerPlan, at: float) -> float:
    """When the autoscaler that exists at this moment was created: an earlier one of its name does not count."""
    created, existed = 0.0, False
    for each in _versions(run, plan, at):
        if each.exists and not existed:
            created = each.at
        existed = each.exists
    return created


def existed_before(run: Run, plan: AutoscalerPlan, created_at: float) -> tuple[float, float] | None:
    """From when until when an autoscaler existed that a restore created again at this moment, with its uid and what it remembers.

    None for a new one, and for one that exists before and after the restore.
    """
    restore = next((each for each in run.journal.restores if each.at == created_at), None)
    if restore is None or created(run, plan, created_at) != created_at:
        return None
    now, before = _versions(run, plan, created_at), _versions(run, plan, restore.backup_at)
    if not now or not before or not before[-1].exists or before[-1].uid != now[-1].uid:
        return None
    return created(run, plan, restore.backup_at), restore.backup_at


def _versions(run: Run, plan: AutoscalerPlan, at: float) -> list[Bounds]:
    """Until this moment, of all autoscalers of its name."""
    key = f"{run.scenario.kind.plural}/{plan.key}"
    return [each for each in run.journal.bounds if each.key == key and each.at <= at]


def created_as_known(run: Run, plan: AutoscalerPlan, at: float) -> tuple[float, ...]:
    """When the autoscaler was created that a process knows at this moment: it may not know yet that there is another one."""
    latest = created(run, plan, at)
    if latest <= run.news_since(at):
        return (latest,)
    return (latest, created(run, plan, run.news_since(at)))


def known_by(run: Run, created_at: float) -> float:
    """When every process knows that the autoscaler was created again. What it does until then may be forgotten."""
    at = created_at
    if not created_at:
        return at  # the first one exists before any process
    while created_at > run.news_since(at) and at < run.scenario.end:
        at += 1.0
    return at


def remembered_changes(
    run: Run, plan: AutoscalerPlan, at: float, changes: Sequence[ScaleWritten]
) -> Iterator[list[ScaleWritten]]:
    """Of the changes of a target: those that a process may remember of the autoscaler that it knows at this moment."""
    known = created_as_known(run, plan, at)
    for since in known:
        yield [each for each in changes if each.at > since]
    latest = known[0]
    until = min(known_by(run, latest), at)
    for forgotten in changes:
        if latest < forgotten.at <= until:
            yield [each for each in changes if each.at > forgotten.at]


def left_at_zero_since(run: Run, plan: AutoscalerPlan) -> float | None:
    """Since when the target is at a zero of the scaler which counts as a user's in the end; None if it is not at such a zero.

    As with kube-controller-manager, a process has set it that knew only an earlier HPA, or a restore has brought it back
    without the condition that says who has set it.
    """
    written = [each for each in run.journal.scales if each.target == plan.key]
    if not written or run.journal.targets[plan.key][-1].replicas:
        return None
    last, created_at = written[-1], created(run, plan, run.scenario.end)
    if last.after:
        restores = [each for each in run.journal.restores if each.at > last.at]
        return next((each.at for each in restores if _lacks_condition(run, plan, each)), None)
    is_unknown = 0 < created_at < last.sent_at <= known_by(run, created_at)
    return last.at if is_unknown and not run.scenario.kind.knows_who_set_zero else None


def _lacks_condition(run: Run, plan: AutoscalerPlan, restore: Restored) -> bool:
    """Whether the backup was made after a process had set the target to zero, and before it has written the condition."""
    before = [
        each
        for each in run.journal.scales
        if each.target == plan.key and each.at <= restore.backup_at
    ]
    if not before or before[-1].after:
        return False
    return not any(
        each.key == plan.key and before[-1].at < each.at <= restore.backup_at
        for each in run.journal.statuses
    )
