"""The invariants of replicas that share the namespaces: each one is reconciled by exactly one of them, and soon by another one."""

import math
from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.invariants import Run, Violation
from tests.simulation.journal import Disturbed, Measurement, ScaleWritten, TargetRequest
from tests.simulation.liveness_invariants import suspended
from tests.simulation.scenario import AutoscalerPlan

# Only these stop a replica; everything else may delay the others too.
STOPPING = ("kill", "terminate", "pause", "partition", "clock-step", "metrics", "pods")
# A watch that was cut off, and the restart of a process.
SETTLING_SECONDS = 90.0


def taken_over(run: Run) -> Iterator[Violation]:
    """While another replica is undisturbed, every target is reconciled again within the time of a Lease and one period.

    A process begins with LISTs of the scales, so that its first reconcile requests metrics only. With streamed metrics, no request
    shows the reconcile of a scale that stays: then a LIST is enough.
    """
    scenario = run.scenario
    if any(each.kind not in STOPPING for each in run.faults):
        return
    for index, disturbed in enumerate(run.journal.disturbed):
        for plan in scenario.autoscalers:
            # Up to the renewal that was seen last, until it is read again, and until the shard is claimed.
            leases = scenario.lease_seconds + 3 * 1.2 * scenario.retry_seconds
            longest = leases + 1.1 * run.period_of(plan) + 1
            until = disturbed.at + longest
            if not _is_alone(run, index, until) or not _exists(run, plan, disturbed, until):
                continue
            if any(disturbed.at < end for _, end in suspended(run, plan, longest)):
                continue
            owner = run.journal.owner_of(plan.namespace, disturbed.at).partition(".")[0]
            if plan.fields.is_dry_run or (scenario.is_streamed and owner != disturbed.replica):
                continue
            moments = [
                each.at for each in _shown(run, disturbed.at)
                if each.target == plan.key and disturbed.at < each.at <= until
            ]  # fmt: skip
            if not moments:
                yield Violation(
                    invariant="taken over", at=disturbed.at,
                    what=f"{plan.key} was not reconciled for {longest:.0f} s after {disturbed.replica} was disturbed",
                )  # fmt: skip


def _shown(run: Run, since: float) -> Iterator[TargetRequest | Measurement]:
    """What shows a reconcile: a request for the target or a metric, or the LIST of a process that owns the namespace then."""
    yield from run.journal.target_requests
    if run.scenario.is_streamed:
        for listed in run.journal.listed_targets:
            # The LIST is sent a moment after the claim.
            if _owns(run, listed, listed.at):
                yield listed
        return
    for each in run.journal.measurements:
        if each.sent_at > since and not each.is_streamed and _owns(run, each, each.sent_at):
            yield each


def _owns(run: Run, found: TargetRequest | Measurement, at: float) -> bool:
    namespace = found.target.partition("/")[0]
    return run.journal.owner_of(namespace, at) == found.process


def written_once(run: Run) -> Iterator[Violation]:
    """No process writes a scale that another one has written since this one read it.

    A write that its sender sent before the process claimed the namespace may arrive after the read. Then the first write of the
    process conflicts with it, and is sent again as upstream's is.
    """
    for plan in run.scenario.autoscalers:
        written = [each for each in run.journal.scales if each.target == plan.key]
        for before, after in pairwise(written):
            if before.process == after.process or run.lease_was_touched(after.at):
                continue
            claimed_at = _claimed_at(run, plan, after)
            since = claimed_at if before.sent_at < claimed_at else before.at
            reads = [
                each for each in (*run.journal.target_requests, *run.journal.listed_targets)
                if each.target == plan.key and each.process == after.process and not each.is_write
                and since <= each.at <= after.sent_at
            ]  # fmt: skip
            if not reads:
                yield Violation(
                    invariant="written once", at=after.at,
                    what=f"{after.process} set {plan.key} to {after.after} without a read since {before.process} set {before.after}",
                )  # fmt: skip


def _claimed_at(run: Run, plan: AutoscalerPlan, written: ScaleWritten) -> float:
    """Since when the writer had owned the namespace when it sent the write; minus infinity if it did not own it."""
    held = [each for each in run.journal.held(plan.namespace) if each.at <= written.sent_at]
    is_owner = bool(held) and held[-1].process == written.process
    return held[-1].at if is_owner else -math.inf


def _is_alone(run: Run, index: int, until: float) -> bool:
    """Whether no other disturbance begins meanwhile, and another replica has been undisturbed for some time."""
    disturbed = run.journal.disturbed[index]
    others = [each for each in run.journal.disturbed if each is not disturbed]
    if any(disturbed.at <= each.at <= until for each in others):
        return False
    recent = {
        each.replica for each in others
        if each.at <= disturbed.at and each.until + SETTLING_SECONDS >= disturbed.at
    }  # fmt: skip
    return bool(set(run.scenario.replicas) - recent - {disturbed.replica})


def _exists(run: Run, plan: AutoscalerPlan, disturbed: Disturbed, until: float) -> bool:
    return until < run.scenario.end and bool(
        run.bounds_of(plan.key, disturbed.at, disturbed.at)
        and run.bounds_of(plan.key, until, until)
    )
