"""What must hold whatever happens, judged from the journal of a run.

An invariant is strict where the scaler could know better, and generous only by what it cannot know:
the time that news needs to reach it, and what was measured a moment before a process died.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from tests.simulation.faults import Fault
from tests.simulation.journal import (
    Bounds,
    Journal,
    Measurement,
    MemoryStored,
    ScaleWritten,
    StatusWritten,
    TargetVersion,
)
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan, Scenario

# After the last fault: a restart, a Lease that has to run out, a watch whose backoff has grown.
RECOVERY_SECONDS = 150.0
# News travels by watches; after these faults it may be late by the length of the fault and a backoff.
DELAYING_NEWS = ("api", "watches", "partition", "pause", "crd", "restore")
BACKOFF_SECONDS = 65.0
# From a change to the event of a watch, and until what it shows is read.
WATCH_SECONDS = 1.0
# From the end of a connection until the next watch, after the first pause of a backoff.
REOPENED_SECONDS = 3.0
# A watch that hangs is given up when the server's time limit is over by 10 s.
SILENT_WATCH_SECONDS = 315.0
EVERYTHING = float("inf")


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """An invariant that did not hold, when, and what happened."""

    invariant: str
    at: float
    what: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at:.1f} s: {self.what}"


class Run(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What is judged."""

    scenario: Scenario
    faults: tuple[Fault, ...]
    journal: Journal

    @property
    def calm_at(self) -> float:
        """From when on everything has to be as if nothing had happened."""
        return self.scenario.calm_at + RECOVERY_SECONDS

    @property
    def stores_of_memories(self) -> Sequence[StatusWritten] | Sequence[MemoryStored]:
        """When what a process remembers of an autoscaler was stored: in its status, or in a ScalingMemory."""
        if not self.scenario.kind.keeps_history:
            return self.journal.memories_stored
        return [each for each in self.journal.statuses if not each.loses_history]

    def plan_of(self, target: str) -> AutoscalerPlan:
        """The autoscaler that belongs to the target."""
        return next(plan for plan in self.scenario.autoscalers if plan.key == target)

    def known_since(self, at: float) -> float:
        """How old the newest news may be that a process acts on at this moment."""
        period = self.scenario.period
        since = at - 2 * period - 5 - self._lag_seconds(at)
        for fault in sorted(self.faults, key=lambda each: -each.at):
            silent = SILENT_WATCH_SECONDS if fault.how == "hang" else BACKOFF_SECONDS
            over = fault.at + fault.seconds + silent
            if any(fault.at - BACKOFF_SECONDS <= each.at <= over for each in self.journal.restores):
                over += BACKOFF_SECONDS  # The watch starts from a version that is lost, and a LIST follows it.
            if fault.kind in DELAYING_NEWS and fault.at <= at and over >= since:
                since = min(since, fault.at - 2 * period - 5)
        return since

    def news_since(self, at: float) -> float:
        """The same of what a watch shows at once, if no fault delays it."""
        since = self.known_since(at)
        lag_seconds = self._lag_seconds(at)
        is_late = since < at - 2 * self.scenario.period - 5 - lag_seconds
        return since if is_late else at - WATCH_SECONDS - lag_seconds

    def _lag_seconds(self, at: float) -> float:
        """By how many seconds the news of a watch may be behind, because an API server is; the watches are opened again at its begin and end."""
        found = 0.0
        for fault in self.faults:
            over = fault.at + fault.seconds
            if fault.kind == "balancer" and fault.at <= at <= over + REOPENED_SECONDS:
                is_reopening = at <= fault.at + REOPENED_SECONDS or at >= over
                found = max(found, fault.amount + (REOPENED_SECONDS if is_reopening else 0.0))
        return found

    def targets_known(self, target: str, at: float) -> list[TargetVersion]:
        """Every version of a target that a process may have read when it acts at this moment."""
        versions = self.journal.targets[target]
        until = bisect_right(versions, at, key=lambda each: each.at)
        since = bisect_right(versions, self.news_since(at), key=lambda each: each.at)
        return versions[max(0, since - 1) : until]

    def bounds_of(self, target: str, since: float, until: float) -> list[Bounds]:
        """Every version of the target's autoscalers that was true at some moment of that time."""
        found: list[Bounds] = []
        for key in {each.key for each in self.journal.bounds if each.target == target}:
            versions = [each for each in self.journal.bounds if each.key == key]
            for index, each in enumerate(versions):
                end = versions[index + 1].at if index + 1 < len(versions) else EVERYTHING
                if each.exists and each.at <= until and end >= since:
                    found.append(each)
        return found

    def may_have_rival(self, target: str, at: float) -> bool:
        """Whether a process may know of another autoscaler of the target at this moment."""
        known = self.bounds_of(target, self.known_since(at), at)
        return len({each.key for each in known}) > 1

    def bounds_known(self, written: ScaleWritten) -> list[Bounds]:
        """Those that its process may know of."""
        decided = self._decision_of(written)
        return self.bounds_known_by(written.process, written.target, written.at, decided)

    def bounds_known_by(
        self, process: str, target: str, at: float, decided: tuple[float, float]
    ) -> list[Bounds]:
        """Those that a process may know of at this moment. It has decided in this time, in which a schedule begins and ends by its wall clock."""
        since, until = self.known_since(at), at
        if self.plan_of(target).fields.window is not None:
            behind, ahead = self._clock_offsets(process, decided)
            since, until = since + min(0.0, behind), until + max(0.0, ahead)
        return self.bounds_of(target, since, until)

    def decided_at(self, written: ScaleWritten) -> float:
        """When its process had got the last answer to a metric before: it may have waited for a write of the status since."""
        answers = (
            each.at
            for each in self.journal.measurements
            if (each.process, each.target) == (written.process, written.target)
            and each.at <= written.sent_at
        )
        return max(answers, default=written.sent_at)

    def rivals(self, target: str, at: float) -> frozenset[str]:
        """The autoscalers that have named the target for so long that every replica knows."""
        since = self.known_since(at)
        return frozenset(
            key
            for key in {each.key for each in self.journal.bounds if each.target == target}
            if (versions := self._versions(key, since, at))
            and versions[0].at <= since
            and all(each.exists and each.target == target for each in versions)
        )

    def rivals_with_selector(self, written: ScaleWritten) -> frozenset[str]:
        """The HPAs among them, other than the one that wrote, whose selector the process has read.

        Upstream reads it only where metrics decide. So of two HPAs the first one that is reconciled after a restart
        does not see the other one, and none sees one that finds the replicas outside of its bounds each time.
        """
        allowing, prefix = self.allowing(written), f"{self.scenario.kind.plural}/"
        if len(allowing) != 1:
            return frozenset()  # either of them may have written
        measured = {
            prefix + each.key
            for each in self.journal.statuses
            if each.process == written.process and each.has_metrics and each.at <= written.sent_at
            and all(known.exists for known in self._versions(prefix + each.key, each.at, written.at))
        }  # fmt: skip
        return (self.rivals(written.target, written.at) & measured) - allowing

    def allowing(self, change: ScaleWritten) -> frozenset[str]:
        """The autoscalers of the target within whose bounds these replicas are, as far as processes know."""
        bounds = self.bounds_known(change)
        return frozenset(
            each.key for each in bounds if each.min_replicas <= change.after <= each.max_replicas
        )

    def _versions(self, key: str, since: float, until: float) -> list[Bounds]:
        """Those of one autoscaler that were true at some moment of that time, also of one that was deleted."""
        versions = [each for each in self.journal.bounds if each.key == key and each.at <= until]
        before = [each for each in versions if each.at <= since]
        return [*before[-1:], *(each for each in versions if each.at > since)]

    def lease_was_touched(self, at: float) -> bool:
        """Whether a user deleted or took the Lease a moment ago, or it was restored, which lets a second leader in until the first one renews."""
        deleted = [fault.at for fault in self.faults if fault.how.startswith("lease-")]
        deleted += [each.at for each in self.journal.restores]
        return any(each <= at <= each + 2 * self.scenario.lease_seconds for each in deleted)

    def is_forced(self, written: ScaleWritten) -> bool:
        """Whether the replicas were outside of the bounds and are brought back to the nearest one, or a suspension set them."""
        current = written.read.replicas
        if self.is_set_by_suspension(written):
            return True
        bounds = self.bounds_known(written)
        return any(
            (current > each.max_replicas and written.after == each.max_replicas)
            or (current < each.min_replicas and written.after == each.min_replicas)
            for each in bounds
        )

    def is_set_by_suspension(self, written: ScaleWritten) -> bool:
        """Whether the suspension of the target sets this count."""
        suspension = self.plan_of(written.target).fields.suspension
        return (
            suspension is not None
            and suspension.replicas == written.after
            and self.known_since(written.at) + self.clock_offsets(written)[0]
            <= suspension.until + CLOCK_ERROR_SECONDS
        )

    def clock_offset(self, process: str, at: float) -> float:
        """How far the wall clock of its machine is ahead of the right time, without what no fault has caused."""
        replica = process.partition(".")[0]
        stepped = [
            each.offset_seconds
            for each in self.journal.clocks_stepped
            if each.replica == replica and each.at <= at
        ]
        return stepped[-1] if stepped else 0.0

    def clock_offsets(self, written: ScaleWritten) -> tuple[float, float]:
        """The lowest and the highest of its process since it may have decided to write this."""
        return self._clock_offsets(written.process, self._decision_of(written))

    def _decision_of(self, written: ScaleWritten) -> tuple[float, float]:
        """Since when, and until when, its process may have decided to write this."""
        return written.sent_at - self.scenario.period, written.sent_at

    def _clock_offsets(self, process: str, decided: tuple[float, float]) -> tuple[float, float]:
        since, until = decided
        moments = [
            since,
            *(each.at for each in self.journal.clocks_stepped if since < each.at <= until),
        ]
        offsets = [self.clock_offset(process, each) for each in moments]
        return min(offsets), max(offsets)

    def period_of(self, plan: AutoscalerPlan) -> float:
        """Between two reconciles of this autoscaler."""
        return float(plan.fields.sync_period_seconds or self.scenario.period)

    def falls_back(self, written: ScaleWritten, group: str) -> bool:
        """Whether the metric of that API has failed for so long that its fallback proposes in its place."""
        plan = self.plan_of(written.target)
        fallback = plan.fields.fallback
        if fallback is None or not fallback.proposes or group != plan.groups[0]:
            return False
        since = written.sent_at - fallback.failure_seconds
        return not any(
            each.value is not None and since < each.at <= written.sent_at - self.period_of(plan)
            for each in self.journal.measurements
            if each.target == plan.key and each.group == group and not self._may_be_late(each.at)
        )

    def _may_be_late(self, at: float) -> bool:
        """Whether an answer of this moment may have reached the scaler after its deadline."""
        return any(
            fault.how == "slow" and fault.at <= at <= fault.at + fault.seconds
            for fault in self.faults
        )


def deadline_seconds(run: Run, plan: AutoscalerPlan) -> float:
    """Of a metric; a response after it belongs to no reconcile. Autoscalers share requests, so a longer period gives no more time."""
    return max(5.0, min(run.period_of(plan), run.scenario.period) * 2 / 3)


def is_awaited(run: Run, plan: AutoscalerPlan, measured: Measurement) -> bool:
    """Whether a reconcile still waited for this response to decide: of a request that follows one to the adapter, it has waited since that one.

    The metric by which the least busy pods are found decides nothing.
    """
    if measured.group not in plan.groups:
        return False
    wait_seconds = deadline_seconds(run, plan)
    direct = run.journal.direct_requests.get(
        (measured.process, measured.target, measured.group), []
    )
    number = bisect_right(direct, measured.sent_at)
    began_at = direct[number - 1] if number else measured.sent_at
    if began_at <= measured.sent_at - wait_seconds:
        began_at = measured.sent_at  # That one was of an earlier reconcile.
    return measured.at - began_at < wait_seconds


def awaited_before(
    run: Run, written: ScaleWritten, since: float = -EVERYTHING
) -> Iterator[Measurement]:
    """What the process that wrote was answered about the target after `since` and until then, while a reconcile still waited for it."""
    plan = run.plan_of(written.target)
    for each in run.journal.measurements:
        if each.at > written.sent_at:
            return
        if (
            each.at > since
            and each.target == written.target
            and each.process == written.process
            and is_awaited(run, plan, each)
        ):
            yield each


def within_bounds(run: Run) -> Iterator[Violation]:
    """Never outside the effective bounds."""
    for written in run.journal.scales:
        bounds = run.bounds_known(written)
        is_within = any(each.min_replicas <= written.after <= each.max_replicas for each in bounds)
        if not is_within and not run.is_set_by_suspension(written):
            known = ", ".join(f"{each.min_replicas}..{each.max_replicas}" for each in bounds)
            yield Violation(
                invariant="within bounds", at=written.at,
                what=f"{written.process} set {written.target} to {written.after}; bounds: {known or 'none'}",
            )  # fmt: skip


def one_writer(run: Run) -> Iterator[Violation]:
    """Never two writers on one target: only the holder of the Lease writes, with shards never another process."""
    for written in run.journal.scales:
        owner = run.journal.owner_of(written.target.partition("/")[0], written.sent_at)
        if owner == written.process or (not owner and not run.scenario.is_sharded):
            continue
        if run.lease_was_touched(written.at):
            continue
        yield Violation(
            invariant="one writer", at=written.at,
            what=f"{written.process} set {written.target} to {written.after}, but {owner or 'no process'} owns it",
        )  # fmt: skip


def one_autoscaler(run: Run) -> Iterator[Violation]:
    """No autoscaler writes where another one names the same target; of HPAs, none by metrics, as upstream."""
    for written in run.journal.scales:
        if run.scenario.kind.shares_no_target:
            is_shared = len(run.rivals(written.target, written.at)) > 1
        else:
            # Upstream finds other HPAs by the pods of the target: there are none at zero.
            finds_none = run.is_forced(written) or written.before == 0
            is_shared = not finds_none and bool(run.rivals_with_selector(written))
        if is_shared:
            yield Violation(
                invariant="one autoscaler", at=written.at,
                what=f"{written.process} set {written.target} to {written.after}, which two autoscalers name",
            )  # fmt: skip


def no_tracebacks(run: Run) -> Iterator[Violation]:
    """What goes wrong outside never ends a process or a reconcile by an exception."""
    for crash in dict.fromkeys(run.journal.crashes):
        yield Violation(invariant="no tracebacks", at=0.0, what=crash)
