"""The write oracle: every count that was written follows from what its process was given, and what follows is written.

`tests/hpa_model` says what the HPA controller makes of the answers, the spec and the history. Of what a process
remembers, it is open here which part it still knows: other invariants judge that. So the oracle bounds each count
from both sides.
"""

from collections.abc import Iterator, Sequence

import msgspec

from tests.hpa_model.normalization import Changed, Recommended, Remembered, normalized
from tests.simulation.cluster import Document
from tests.simulation.fields import Fields
from tests.simulation.history_invariants import ROUNDING_SECONDS, created
from tests.simulation.invariants import Run, Violation
from tests.simulation.journal import Bounds, ScaleWritten, TargetVersion
from tests.simulation.memory_invariants import INVARIANTS
from tests.simulation.reconciles import Reconcile, reconciles_of, wanted
from tests.simulation.scenario import AutoscalerPlan

# A write follows a reconcile within this time: it may be repeated, and kube-apiserver may be slow.
WRITE_SECONDS = 3.0
# An answer that took longer may be too old to be acted on.
SLOW_SECONDS = 2.0


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What autoscalers of a target may remember, all of it."""

    recommended: tuple[Recommended, ...]
    changed: tuple[Changed, ...]

    def alternatives(self, since: float, until: float) -> Iterator[Remembered]:
        """All of it, nothing, and what limits changes in one direction only."""
        recommended = [each for each in self.recommended if since <= each.at < until]
        changed = [each for each in self.changed if since <= each.at < until]
        for known in ([], recommended):
            for changes in ([], [each for each in changed if each.replicas > 0],
                            [each for each in changed if each.replicas < 0], changed):  # fmt: skip
                yield Remembered(recommended=known, changed=changes)


def explained(run: Run) -> Iterator[Violation]:
    """Each count that was written follows from answers that this process was given, the spec and the history."""
    for plan in run.scenario.autoscalers:
        if not has_hpa_rules(plan.fields):
            continue
        reconciles = sorted(reconciles_of(run, plan), key=lambda each: each.at)
        history = _history(run, plan, reconciles)
        for written in run.journal.scales:
            if written.target != plan.key or written.after == written.before:
                continue
            if run.is_forced(written) or _has_rival(run, plan, written.sent_at):
                continue
            reason = _unexplained(run, plan, written, reconciles, history)
            if reason:
                yield Violation(
                    invariant="explained", at=written.at,
                    what=f"{written.process} set {plan.key} from {written.read.replicas} to {written.after}: {reason}",
                )  # fmt: skip


def acted_on(run: Run) -> Iterator[Violation]:
    """A process that is given answers, period after period, which demand another count, writes one."""
    for plan in run.scenario.autoscalers:
        if plan.fields.is_dry_run or plan.fields.suspension or not has_hpa_rules(plan.fields):
            continue
        reconciles = sorted(reconciles_of(run, plan), key=lambda each: (each.process, each.at))
        history = _history(run, plan, reconciles)
        first: Reconcile | None = None
        for each in reconciles:
            demand = _demanded(run, plan, each, history)
            if not demand:
                first = None
                continue
            if first is None or first.process != each.process:
                first = each
            writes = [
                requested.at for requested in run.journal.target_requests
                if requested.is_write and requested.target == plan.key and requested.process == each.process
                and first.at <= requested.at <= each.until + WRITE_SECONDS
            ]  # fmt: skip
            if writes:
                first = None
            elif each.until - first.at > 2 * run.period_of(plan) + WRITE_SECONDS:
                yield Violation(
                    invariant="acted on", at=each.at,
                    what=f"{each.process} has not written the scale of {plan.key} since {first.at:.1f} s: {demand}",
                )  # fmt: skip
                break


def has_hpa_rules(fields: Fields) -> bool:
    """Whether no additional field changes what the metrics want, or how far it may go at once."""
    without = msgspec.structs.replace(
        fields, sync_period_seconds=None, is_dry_run=False, suspension=None, window=None,
        is_by_calendar=False, deletes_least_busy=False,
    )  # fmt: skip
    return without == Fields()


def _has_rival(run: Run, plan: AutoscalerPlan, at: float) -> bool:
    known = run.bounds_of(plan.key, run.known_since(at), at)
    return len({each.key for each in known}) > 1


def _history(run: Run, plan: AutoscalerPlan, reconciles: Sequence[Reconcile]) -> History:
    """Every recommendation that a reconcile may have made, and every change.

    The count that a process finds first counts as a recommendation, if it remembers none. While nothing is reconciled, the
    last recommendation continues.
    """
    recommended: list[Recommended] = []
    begun, before, latest = set[tuple[str, float]](), set[int](), 0.0
    for each in sorted(reconciles, key=lambda each: each.at):
        versions = run.targets_known(plan.key, each.at)
        counts = {count for _, count in wanted(run, plan, each, versions) if count is not None}
        memory = (each.process, created(run, plan, each.at))
        is_late = each.at > latest + 1.5 * run.period_of(plan)
        found = (
            {version.replicas for version in versions} if memory not in begun or is_late else set()
        )
        continued = before if is_late else set()
        recommended += [Recommended(each.at, count) for count in counts | found | continued]
        begun.add(memory)
        if counts:
            before, latest = counts, each.at
    changed = [
        Changed(each.at, each.after - each.read.replicas)
        for each in run.journal.scales
        if each.target == plan.key
    ]
    return History(recommended=tuple(recommended), changed=tuple(changed))


def _unexplained(
    run: Run,
    plan: AutoscalerPlan,
    written: ScaleWritten,
    reconciles: Sequence[Reconcile],
    history: History,
) -> str:
    """Why nothing explains it; empty if something does."""
    before = [
        each
        for each in reconciles
        if each.process == written.process and each.at <= written.sent_at
    ]
    if not before:
        return "its process had requested no metric"
    counts = {count for _, count in wanted(run, plan, before[-1], [written.read])} - {None}
    ranges = [
        _range(run, plan, each, count, written.read.replicas, history, written.sent_at)
        for count in counts
        if count is not None
        for each in run.bounds_known(written)
    ]
    if any(low <= written.after <= high for low, high in ranges):
        return ""
    shown = ", ".join(f"{low}..{high}" for low, high in sorted(set(ranges)))
    return f"the metrics want {sorted(filter(None, counts))}, which allows {shown or 'no change'}"


def _range(
    run: Run,
    plan: AutoscalerPlan,
    bounds: Bounds,
    count: int,
    current: int,
    history: History,
    at: float,
) -> tuple[int, int]:
    """The lowest and the highest count that may become of it, whatever is remembered."""
    spec: Document = {
        **bounds.spec, "minReplicas": bounds.min_replicas, "maxReplicas": bounds.max_replicas,
    }  # fmt: skip
    since = created(run, plan, at)
    # Ages are in whole seconds, and of clocks that were stepped whatever they say.
    now = since if run.journal.clocks_stepped else at - ROUNDING_SECONDS
    found = [
        normalized(count, current, spec, known, now=now, window_seconds=run.scenario.window)
        for known in history.alternatives(since, at)
    ]
    return min(found), max(found)


def _demanded(run: Run, plan: AutoscalerPlan, reconcile: Reconcile, history: History) -> str:
    """Which change all that the process may know demands; empty if none is certain."""
    at = reconcile.until
    owner = run.journal.owner_of(plan.namespace, at)
    is_slow = at - reconcile.at > SLOW_SECONDS
    if owner != reconcile.process or is_slow or _has_rival(run, plan, at):
        return ""
    versions = _versions_around(run, plan, reconcile)
    bounds = run.bounds_of(plan.key, run.known_since(at), at)
    if len({each.replicas for each in versions}) != 1 or not bounds:
        return ""
    current = versions[0].replicas
    counts = {count for _, count in wanted(run, plan, reconcile, versions)}
    if None in counts or not all(
        each.min_replicas <= current <= each.max_replicas for each in bounds
    ):
        return ""
    ranges = [
        _range(run, plan, each, count, current, history, at)
        for count in counts
        if count is not None
        for each in bounds
    ]
    if not any(high for _, high in ranges) and _may_not_mark_zero(run, reconcile):
        return ""
    if all(low > current for low, _ in ranges) or all(high < current for _, high in ranges):
        shown = ", ".join(f"{low}..{high}" for low, high in sorted(set(ranges)))
        return f"{current} replicas, the metrics want {shown}"
    return ""


def _may_not_mark_zero(run: Run, reconcile: Reconcile) -> bool:
    """Whether the status may not be writable, which is written before a target is scaled to zero."""
    return any(
        fault.at <= reconcile.until and reconcile.at <= fault.at + fault.seconds
        for fault in run.faults
        if fault.kind in ("api", "crd") or (fault.kind, fault.where) == ("writes", "status")
    )


def _versions_around(run: Run, plan: AutoscalerPlan, reconcile: Reconcile) -> list[TargetVersion]:
    return [
        *run.targets_known(plan.key, reconcile.at),
        *(
            each
            for each in run.journal.targets[plan.key]
            if reconcile.at < each.at <= reconcile.until + WRITE_SECONDS
        ),
    ]


INVARIANTS += [explained, acted_on]
