"""The invariants of memory: what was recommended and changed before counts, whichever replica remembers it.

They compute from the journal what a scaler that never forgets would be bound to, the way upstream's
stabilization and policies do (`horizontal.go`).
"""

import math
from collections.abc import Iterator
from itertools import groupby, pairwise

import msgspec

from tests.hpa_model.normalization import Changed, Remembered, limit
from tests.simulation.clock_skew import SKEW_SECONDS, Skew, Skews
from tests.simulation.creations import created, known_by, remembered_changes
from tests.simulation.faults import Fault
from tests.simulation.invariants import Run, Violation, is_awaited
from tests.simulation.journal import Measurement, ScaleWritten
from tests.simulation.lost_memories import lost_memories
from tests.simulation.memory_objects import MEMORIES
from tests.simulation.objects import rules_document
from tests.simulation.recommendations import recommendation, target_ratio
from tests.simulation.scenario import AutoscalerPlan

# Stored times are in whole seconds, and a write takes a moment.
ROUNDING_SECONDS = 3.0
# Without a Lease that is set otherwise: until another process has it, and has read what was stored.
TAKE_OVER_SECONDS = 30.0
# While these faults last, a process may begin without the memories of HPAs.
UNREADABLE = ("crd", "reads", "api", "partition", "pause")


class Recommended(msgspec.Struct, frozen=True):
    """A recommendation, from when to when it was made, and when a process has put that into its memory."""

    begin: float
    end: float
    replicas: int
    noted_at: float


def stabilized(run: Run) -> Iterator[Violation]:
    """Memory lost, moved or restored: nothing shrinks below what was recommended within the window."""
    for plan in run.scenario.autoscalers:
        window = window_of(run, plan)
        if not plan.follows_a_queue or window <= 0:
            continue
        remembered, skews = _remembered(run, plan), Skews(run, plan.key)
        lost = lost_memories(run, plan.key)
        for written in run.journal.scales:
            current = written.read.replicas
            if written.target != plan.key or written.after >= current or run.is_forced(written):
                continue
            known_at = known_by(run, created(run, plan, written.at))
            since = max(written.at - window + ROUNDING_SECONDS, known_at)
            highest = max(
                (
                    each.replicas
                    for each in remembered
                    if each.end > since
                    and each.end > since + skews.between(each.end, written.sent_at).early_seconds
                    and each.begin < written.sent_at - 1
                    and not any(
                        span.hides(at, written.sent_at)
                        for span in lost
                        for at in (each.begin, each.noted_at)
                    )
                ),
                default=0,
            )
            bounds = run.bounds_known(written)
            floor = min(current, highest, *(each.max_replicas for each in bounds))
            if written.after < floor:
                yield Violation(
                    invariant="stabilized", at=written.at,
                    what=f"{written.process} shrank {plan.key} from {current} to {written.after}; "
                    f"{highest} were recommended within the last {window:.0f} s",
                )  # fmt: skip


def window_of(run: Run, plan: AutoscalerPlan) -> float:
    window = run.scenario.window
    if plan.down is None or plan.down.window_seconds is None:
        return window
    removed = any(not each.has_behavior for each in run.journal.bounds if each.target == plan.key)
    return min(window, plan.down.window_seconds) if removed else float(plan.down.window_seconds)


def _remembered(run: Run, plan: AutoscalerPlan) -> list[Recommended]:
    """What was recommended.

    While no replica leads, the last recommendation continues until a period before the next process reconciles, which may
    be without a measurement if the replicas are outside of the bounds. What a process measured in its last two
    periods may have died with it, or later if it could not store its memories, so that the lowest of what it may have
    remembered last counts.
    """
    measured = [
        each
        for each in run.journal.measurements
        if each.target == plan.key
        and each.value is not None
        and not each.is_streamed
        and _owner(run, each) in ("", each.process)
        and is_awaited(run, plan, each)
    ]
    found: list[Recommended] = []
    for process, life in groupby(measured, key=lambda each: each.process):
        of_life = [(each, recommendation(run, each, target_ratio(run, each))) for each in life]
        kept = [
            (each, n)
            for each, n in of_life
            if _owner(run, each) == each.process
            and not run.may_have_rival(each.target, each.at)
            and not _died_soon(run, each)
            and not _could_not_be_stored(run, plan, each)
        ]
        found += [Recommended(each.at, each.at, n, each.at) for each, n in kept]
        # What was recommended later, on streamed metrics, is not seen.
        if kept and not run.scenario.is_streamed:
            last = kept[-1][0].at
            following = _next_reconcile(run, plan, process, of_life[-1][0].at, default=last)
            lowest = min(n for each, n in of_life if each.at >= last)
            until = following - run.scenario.period
            found.append(Recommended(last, until, lowest, following))
    return found


def _next_reconcile(
    run: Run, plan: AutoscalerPlan, process: str, after: float, *, default: float
) -> float:
    """When another process reconciled the target first."""
    return next(
        (
            each.at
            for each in run.journal.target_requests
            if each.target == plan.key and each.process != process and each.at > after
        ),
        default,
    )


def _died_soon(run: Run, measured: Measurement) -> bool:
    soon = measured.at + 2 * run.scenario.period + 1
    ends = [end for process, _, end in run.journal.lives if process == measured.process]
    held = run.journal.held(measured.target.partition("/")[0])
    lost = [
        each.at for before, each in pairwise(held)
        if before.process == measured.process and each.at >= measured.at
    ]  # fmt: skip
    if not run.scenario.kind.keeps_history:
        # A memory that is not part of the status is written later, which a process cannot that is cut off until it ends or loses the Lease.
        lost += [
            each.at for each in run.journal.disturbed
            if measured.process.startswith(f"{each.replica}.")
            and any(each.at <= at <= each.until for at in (*ends, *lost))
        ]  # fmt: skip
    return any(measured.at <= at <= soon for at in (*ends, *lost))


def _could_not_be_stored(run: Run, plan: AutoscalerPlan, measured: Measurement) -> bool:
    """Whether the process ended, or lost the Lease, while what it remembered could not be written.

    The next one notices that if what it reads is older than it should be (`scaler.algorithm.restart`).
    """
    until = _next_reconcile(run, plan, measured.process, measured.at, default=math.inf)
    failing = any(
        _fails_to_store(run, fault)
        and measured.at <= fault.at + fault.seconds and fault.at <= until
        for fault in run.faults
    )  # fmt: skip
    stored = [
        each.at for each in run.stores_of_memories
        if each.key == measured.target and each.process == measured.process and each.at <= until
    ]  # fmt: skip
    latest = max(stored, default=0.0)
    age_seconds_max = window_of(run, plan) / 2 + TAKE_OVER_SECONDS + 2 * run.scenario.period
    return failing and latest < measured.at and until - latest <= age_seconds_max


def _fails_to_store(run: Run, fault: Fault) -> bool:
    """Whether statuses, or the memories of HPAs, may not be writable because of it."""
    store = "status" if run.scenario.kind.keeps_history else MEMORIES
    return fault.kind == "api" or (fault.kind, fault.where) == ("writes", store)


def _owner(run: Run, measured: Measurement) -> str:
    """Of its namespace; empty if a user has taken the Lease away, which the process that had it does not know yet."""
    namespace = measured.target.partition("/")[0]
    return run.journal.owner_of(namespace, measured.at)


def no_budget_twice(run: Run) -> Iterator[Violation]:
    """No policy grants more change within its period than it says, whichever replica leads."""
    for written in run.journal.scales:
        plan, current = run.plan_of(written.target), written.read.replicas
        if written.after == written.before:
            continue  # the same write once more, because the first one got no response
        if run.is_forced(written) or run.lease_was_touched(written.at) or _exempt(run, plan):
            continue
        if _is_unlimited(plan, current, written):
            continue
        changes = [
            each for each in run.journal.scales
            if each.target == plan.key and each.at < written.sent_at and not _is_by_rival(run, plan, each)
        ]  # fmt: skip
        known = list(remembered_changes(run, plan, written.sent_at, changes))
        changes = known[0]
        if _began_without_memories(run, written):
            known.append(_own(changes, written))
        lost = lost_memories(run, plan.key)
        if lost:
            known.append(
                [
                    each for each in changes
                    if each.process == written.process
                    or not any(span.hides(each.at, written.sent_at) for span in lost)
                ]
            )  # fmt: skip
        skews = Skews(run, plan.key)
        limits = [
            limit_of(plan, current, each, _counted(plan, _as_stored(run, written, changes)), skews)
            for changes in known
            for each in (written, msgspec.structs.replace(written, at=run.decided_at(written)))
        ]
        limit = max(limits) if written.after > current else min(limits)
        if (written.after > current and written.after > limit) or (
            written.after < current and written.after < limit
        ):
            yield Violation(
                invariant="no budget twice", at=written.at,
                what=f"{written.process} set {plan.key} from {current} to {written.after}; the policies allow {limit}",
            )  # fmt: skip


def _counted(plan: AutoscalerPlan, changes: list[ScaleWritten]) -> list[ScaleWritten]:
    """As the policies count them: with `scaleToZero` or an activation value, without the first replica after zero."""
    if not plan.fields.decides_on_activity:
        return changes
    return [
        msgspec.structs.replace(each, before=min(1, each.after)) if each.before == 0 else each
        for each in changes
    ]


def _is_by_rival(run: Run, plan: AutoscalerPlan, change: ScaleWritten) -> bool:
    """Whether only another HPA of the target can have made this change: as upstream, each HPA counts its own changes."""
    if run.scenario.kind.shares_no_target:
        return False
    allowing = run.allowing(change)
    return bool(allowing) and f"{run.scenario.kind.plural}/{plan.key}" not in allowing


def _began_without_memories(run: Run, written: ScaleWritten) -> bool:
    """As upstream, an HPA forgets its changes with its process while its memory cannot be read.

    A reconcile that has begun before it was read does not know it either.
    """
    began = [
        each.at
        for each in run.journal.held(written.target.partition("/")[0])
        if each.process == written.process and each.at <= written.sent_at
    ]
    if run.scenario.kind.keeps_history or not began:
        return False
    read_before = written.sent_at - run.scenario.period
    is_read = any(
        (each.process, each.key) == (written.process, written.target)
        and began[-1] <= each.at <= read_before
        for each in run.journal.memories_read
    )
    return not is_read and any(
        fault.kind in UNREADABLE and fault.at <= written.sent_at
        and began[-1] <= fault.at + fault.seconds
        for fault in run.faults
    )  # fmt: skip


def _own(changes: list[ScaleWritten], written: ScaleWritten) -> list[ScaleWritten]:
    return [each for each in changes if each.process == written.process]


def _as_stored(run: Run, written: ScaleWritten, changes: list[ScaleWritten]) -> list[ScaleWritten]:
    """The changes as the process can know them: those that another process could not store are one to it.

    While no status, or no memory of HPAs, can be written, nothing shows them but the replicas: before them in what is
    stored, after them in the scale.
    """
    found: list[ScaleWritten] = []
    unstored: list[ScaleWritten] = []
    for each in changes:
        if each.process == written.process or _is_stored(run, each, written.sent_at):
            found.append(each)
        else:
            unstored.append(each)
    if unstored:
        before = _stored_replicas(run, unstored[0])
        found.append(msgspec.structs.replace(unstored[-1], before=before))
    return found


def _stored_replicas(run: Run, change: ScaleWritten) -> int:
    """The count that was stored last before the change; a rival may have changed it since."""
    return next(
        (
            each.replicas
            for each in reversed(run.journal.memories_stored)
            if each.key == change.target and each.at < change.at and each.replicas is not None
        ),
        change.before,
    )


def _is_stored(run: Run, change: ScaleWritten, until: float) -> bool:
    return any(
        each.key == change.target
        and each.process == change.process
        and change.at <= each.at < until
        for each in run.stores_of_memories
    )


def _exempt(run: Run, plan: AutoscalerPlan) -> bool:
    """Whose rules changed on the way."""
    return len({each.has_behavior for each in run.journal.bounds if each.target == plan.key}) > 1


def _is_unlimited(plan: AutoscalerPlan, current: int, written: ScaleWritten) -> bool:
    """Policies limit neither a panic nor the first replica of a target with load."""
    if written.after > current and plan.fields.panic_hold_seconds is not None:
        return True
    return plan.fields.decides_on_activity and (current, written.after) == (0, 1)


def limit_of(
    plan: AutoscalerPlan,
    current: int,
    written: ScaleWritten,
    changes: list[ScaleWritten],
    skews: Skews | None = None,
) -> int:
    """How many replicas the policies allow after these changes, in the direction of the one that was written.

    `skews`: of the target, None if its clocks were not stepped.
    """
    up = written.after > current
    rules = plan.up if up else plan.down
    if rules is None:
        return max(2 * current, 4) if up else 0
    slack_seconds = ROUNDING_SECONDS + SKEW_SECONDS
    counted = []
    for each in changes:
        change = each.after - each.before
        skew = Skew() if skews is None else skews.between(each.at, written.sent_at)
        # At the edge of a period a change counts as it suits the scaler.
        late = (
            slack_seconds + skew.late_seconds
            if (change < 0) == up
            else -slack_seconds - skew.early_seconds
        )
        counted.append(Changed(each.at + late, change))
    remembered = Remembered(changed=counted)
    return limit(current, rules_document(rules), remembered, written.at, up=up)
