"""The invariants of memories that are stored in ScalingMemory objects: they are there for the next process, or it is said
that they are not, and then every HPA starts as after a restart of kube-controller-manager.
"""

from collections.abc import Iterator

import msgspec

from tests.simulation.creations import created, created_as_known, known_by
from tests.simulation.history_invariants import ROUNDING_SECONDS, window_of
from tests.simulation.invariants import Run, Violation
from tests.simulation.journal import MemoryRead, MemoryStored, TargetRequest, Warned
from tests.simulation.scenario import AutoscalerPlan

# autoscaling/v2: HorizontalPodAutoscalerStatus.
UPSTREAM_STATUS = {
    "observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas", "currentMetrics", "conditions",
}  # fmt: skip
# A write is under way while an answer is lost, or waits for a period.
STORING_SECONDS = 5.0
# Of the memories in a ScalingMemory; names and metadata are beside them.
MEMORIES_BYTES_MAX, METADATA_BYTES_MAX = 512 * 1024, 4096


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The first reconcile of an HPA by a process that was not the last one to reconcile it."""

    plan: AutoscalerPlan
    first: TargetRequest
    claimed_at: float
    """Since when the Leases name the process, or none."""
    read: MemoryRead | None
    """What it got of the stored memory, last before that reconcile."""
    stored: MemoryStored | None
    """What became of the stored memory last, before the process got it."""


def only_status_written(run: Run) -> Iterator[Violation]:
    """HPAs are written by nothing but updates of their status, with the fields that upstream has."""
    if run.scenario.kind.keeps_history:
        return
    for written in run.journal.statuses:
        if not written.path.endswith("/status") or set(written.fields) - UPSTREAM_STATUS:
            yield Violation(
                invariant="only status written", at=written.at,
                what=f"{written.process} wrote {', '.join(written.fields)} at {written.path}",
            )  # fmt: skip


def memory_within_limit(run: Run) -> Iterator[Violation]:
    """No ScalingMemory is larger than its limit."""
    for written in run.journal.memory_objects:
        if written.bytes > MEMORIES_BYTES_MAX + METADATA_BYTES_MAX:
            yield Violation(
                invariant="memory within limit", at=written.at,
                what=f"{written.process} wrote {written.bytes} bytes to {written.name}",
            )  # fmt: skip


def memory_kept(run: Run) -> Iterator[Violation]:
    """What was stored of an HPA that still exists is there for the next process that scales it."""
    for start in _starts(run):
        stored = start.stored
        known_at = known_by(run, created(run, start.plan, stored.at)) if stored is not None else 0.0
        if stored is None or stored.is_damage or stored.at <= known_at:
            continue
        if stored.replicas is None:
            yield Violation(
                invariant="memory kept", at=stored.at,
                what=f"{stored.process} removed the memory of {start.plan.key}",
            )  # fmt: skip


def loss_reported(run: Run) -> Iterator[Violation]:
    """A process that cannot read the memories of its HPAs says so, before it reconciles one of them."""
    for start in _starts(run):
        is_unread = start.read is None and start.stored is not None and not start.stored.is_damage
        is_damaged = start.read is not None and start.read.is_damaged
        if not (is_unread or is_damaged):
            continue
        if not any(_is_report(each, start) for each in run.journal.warnings):
            yield Violation(
                invariant="loss reported", at=start.first.at,
                what=f"{start.first.process} reconciled {start.plan.key} without its memory, and did not say so",
            )  # fmt: skip


def as_after_a_restart(run: Run) -> Iterator[Violation]:
    """Without a memory the count that a process finds is its first recommendation: nothing shrinks below it for one window."""
    for start in _starts(run):
        if start.read is not None and not start.read.is_damaged:
            continue
        if len(created_as_known(run, start.plan, start.first.at)) > 1:
            continue  # It may be the former autoscaler of that name, with its memory.
        window = window_of(run, start.plan)
        until = min(start.first.at + window - ROUNDING_SECONDS, _next_read(run, start))
        since = max(start.first.at, created(run, start.plan, start.first.at))
        for written in run.journal.scales:
            same = written.target == start.plan.key and written.process == start.first.process
            if not same or not since <= written.at < until or run.is_forced(written):
                continue
            if created(run, start.plan, written.at) > start.first.at:
                continue
            bounds = run.bounds_of(start.plan.key, run.known_since(written.at), written.at)
            current = written.read.replicas
            found = min(each.replicas for each in run.targets_known(start.plan.key, start.first.at))
            floor = min(current, found, *(each.max_replicas for each in bounds))
            if written.after < floor:
                yield Violation(
                    invariant="as after a restart", at=written.at,
                    what=f"{written.process} shrank {start.plan.key} to {written.after}; it began without a memory and "
                    f"with {found}, less than {window:.0f} s before",
                )  # fmt: skip


def memory_stored(run: Run) -> Iterator[Violation]:
    """Faults over, the last change of the replicas that was made is stored."""
    if run.scenario.kind.keeps_history:
        return
    for plan in run.scenario.autoscalers:
        stored = _last(run, plan.key, run.scenario.end)
        changes = [each for each in run.journal.scales if each.target == plan.key]
        until = run.scenario.end - run.scenario.period - STORING_SECONDS
        bounds = run.bounds_of(plan.key, run.scenario.end, run.scenario.end)
        if len(bounds) != 1 or not changes or not run.calm_at < changes[-1].at < until:
            continue
        if stored is None or stored.replicas != changes[-1].after:
            found = "none" if stored is None or stored.replicas is None else f"{stored.replicas}"
            yield Violation(
                invariant="memory stored", at=changes[-1].at,
                what=f"{plan.key} was set to {changes[-1].after}, but the stored memory has {found}",
            )  # fmt: skip


def _starts(run: Run) -> Iterator[Start]:
    if run.scenario.kind.keeps_history:
        return
    for plan in run.scenario.autoscalers:
        before = ""
        for first in run.journal.target_requests:
            if first.target != plan.key or not _may_be_known(run, plan, first.at):
                continue  # of another HPA of the target
            if first.process != before:
                start = _start(run, plan, first)
                if not _continues(run, start):
                    yield start
            before = first.process


def _may_be_known(run: Run, plan: AutoscalerPlan, at: float) -> bool:
    """Whether a process may know the HPA at this moment: it may be deleted while another one names its target."""
    key = f"{run.scenario.kind.plural}/{plan.key}"
    return any(each.key == key for each in run.bounds_of(plan.key, run.known_since(at), at))


def _continues(run: Run, start: Start) -> bool:
    """Whether the process has not claimed the namespace again since it reconciled the HPA before.

    A user has deleted its Lease, so that another one could claim it: it goes on with what it knows until it notices. Or a
    restore has given it back a Lease that it had before, which does not show that another one has claimed it meanwhile: it
    goes on with the memory that it has read, too.
    """
    process, key, before = start.first.process, start.first.target, start.first.at
    reconciled_at = [
        each.at
        for each in run.journal.target_requests
        if (each.process, each.target) == (process, key) and each.at < before
    ]
    if not any(each.at == start.claimed_at for each in run.journal.restores):
        return any(start.claimed_at <= at for at in reconciled_at)
    has_read = any(
        (each.process, each.key) == (process, key) and each.at < before and not each.is_damaged
        for each in run.journal.memories_read
    )
    return has_read or bool(reconciled_at)


def _start(run: Run, plan: AutoscalerPlan, first: TargetRequest) -> Start:
    claimed_at = run.journal.owned_since(first.process, plan.key, first.at)
    if claimed_at is None:
        claimed_at = first.at
    reads = [
        each for each in run.journal.memories_read
        if each.process == first.process and each.key == plan.key
        and claimed_at <= each.at <= first.at
    ]  # fmt: skip
    until = reads[-1].at if reads else claimed_at
    since = created(run, plan, first.at)
    stored = _last(run, plan.key, until)
    if stored is not None and stored.at <= known_by(run, since):
        stored = None  # of an earlier HPA of its name
    return Start(
        plan=plan, first=first, claimed_at=claimed_at, read=reads[-1] if reads else None, stored=stored,
    )  # fmt: skip


def _next_read(run: Run, start: Start) -> float:
    """When the process read a memory of the HPA after all: it lost the namespace, and claimed it again."""
    return next(
        (
            each.at for each in run.journal.memories_read
            if each.process == start.first.process and each.key == start.plan.key
            and each.at > start.first.at and not each.is_damaged
        ),
        run.scenario.end,
    )  # fmt: skip


def _last(run: Run, key: str, until: float) -> MemoryStored | None:
    found = (each for each in reversed(run.journal.memories_stored) if each.key == key)
    return next((each for each in found if each.at <= until), None)


def _is_report(warned: Warned, start: Start) -> bool:
    return (
        warned.process == start.first.process
        and warned.at <= start.first.at
        and ("cannot be decoded" in warned.text or "are not stored" in warned.text)
    )
