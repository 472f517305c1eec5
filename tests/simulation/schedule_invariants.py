"""The invariant of schedules: while one is active, its target is within its bounds."""

from collections.abc import Iterator

from tests.simulation.invariants import RECOVERY_SECONDS, Run, Violation
from tests.simulation.journal import Bounds
from tests.simulation.scenario import AutoscalerPlan

# By then a scaler reconciles every autoscaler that was created at the beginning.
STARTED_SECONDS = 60.0
# A change of the bounds is applied by the next reconcile; until then it may wait for the one before, and for a write.
SETTLING_PERIODS = 3
MARGIN_SECONDS = 5.0
HARMLESS = ("pods", "rollout", "metrics", "memories")


def schedule_applied(run: Run) -> Iterator[Violation]:
    """Undisturbed, a target is within the bounds of its schedule some periods after they have changed."""
    if any(fault.kind == "clock-step" for fault in run.faults):
        return  # a schedule is active by the clock of the process
    for plan in run.scenario.autoscalers:
        fields = plan.fields
        if fields.window is None or fields.is_dry_run or fields.suspension is not None:
            continue
        for bounds, begin, end in _settled(run, plan):
            for at, replicas in _states(run, plan, begin, end):
                if bounds.min_replicas <= replicas <= bounds.max_replicas or _is_disturbed(run, at):
                    continue
                known = f"{bounds.min_replicas}..{bounds.max_replicas} since {bounds.at:.1f} s"
                yield Violation(
                    invariant="schedule applied", at=at,
                    what=f"{plan.key} has {replicas} replicas; bounds: {known}",
                )  # fmt: skip
                break


def _settled(run: Run, plan: AutoscalerPlan) -> Iterator[tuple[Bounds, float, float]]:
    """The bounds of the only autoscaler of the target, and from when to when they must have been applied."""
    versions = [each for each in run.journal.bounds if each.target == plan.key]
    if len({each.key for each in versions}) != 1:
        return
    ends = [each.at for each in versions[1:]] + [run.scenario.end]
    settling_seconds = SETTLING_PERIODS * run.period_of(plan) + MARGIN_SECONDS
    for each, end in zip(versions, ends, strict=True):
        begin = max(each.at, STARTED_SECONDS) + settling_seconds
        if each.exists and begin < end - MARGIN_SECONDS:
            yield each, begin, end - MARGIN_SECONDS


def _states(
    run: Run, plan: AutoscalerPlan, begin: float, end: float
) -> Iterator[tuple[float, int]]:
    """The replicas at the begin and the end of that time, and whenever they change between."""
    versions = run.journal.targets[plan.key]
    for at in (begin, *(each.at for each in versions if begin < each.at < end), end):
        yield at, next(each.replicas for each in reversed(versions) if each.at <= at)


def _is_disturbed(run: Run, at: float) -> bool:
    return any(
        each.at <= at <= each.at + each.seconds + RECOVERY_SECONDS
        for each in run.faults
        if each.kind not in HARMLESS
    )
