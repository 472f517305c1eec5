"""The write oracle: every count that was written follows from what its process was given, and what follows is written.

`tests/hpa_model` says what the HPA controller makes of the answers, the spec and the history. Of what a process
remembers, it is open here which part it still knows: other invariants judge that. So the oracle bounds each count
from both sides.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from tests.hpa_model.normalization import Changed, Recommended, Remembered, normalized
from tests.simulation.cluster import Document
from tests.simulation.creations import created, created_as_known, existed_before
from tests.simulation.demands import certain_replicas, unmet_demand, versions_around
from tests.simulation.faults import Fault
from tests.simulation.history_invariants import ROUNDING_SECONDS, window_of
from tests.simulation.invariants import BACKOFF_SECONDS, Run, Violation
from tests.simulation.journal import Bounds, ScaleWritten, TargetVersion
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.reconciles import Reconcile, reconciles_of, wanted
from tests.simulation.scenario import AutoscalerPlan

KNOWN_FIELDS: tuple[str, ...] = (
    "is_dry_run", "suspension", "window", "is_by_calendar", "deletes_least_busy", "forecast",
)  # fmt: skip


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What autoscalers of a target may remember, all of it."""

    recommended: tuple[Recommended, ...]
    changed: tuple[Changed, ...]

    def alternatives(self, *spans: tuple[float, float]) -> Iterator[Remembered]:
        """All that is of these spans, nothing, and what limits changes in one direction only."""
        recommended = [each for each in self.recommended if _is_within(each.at, spans)]
        changed = [each for each in self.changed if _is_within(each.at, spans)]
        for known in ([], recommended):
            for changes in ([], [each for each in changed if each.replicas > 0],
                            [each for each in changed if each.replicas < 0], changed):  # fmt: skip
                yield Remembered(recommended=known, changed=changes)


def _is_within(at: float, spans: Iterable[tuple[float, float]]) -> bool:
    return any(since <= at < until for since, until in spans)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """An autoscaler without fields that change the rules, its reconciles and what may be remembered of them."""

    plan: AutoscalerPlan
    reconciles: tuple[Reconcile, ...]
    history: History


@lru_cache(maxsize=1)
def judged(run: Run) -> tuple[Judged, ...]:
    """Those of a run. They are kept for the second invariant, which saves an eighth of the time of a seed.

    None of streamed metrics: what a reconcile was given is not seen.
    """
    if run.scenario.is_streamed:
        return ()
    found = []
    for plan in run.scenario.autoscalers:
        if _has_hpa_rules(plan):
            reconciles = tuple(reconciles_of(run, plan))
            history = _history(run, plan, reconciles)
            found.append(Judged(plan=plan, reconciles=reconciles, history=history))
    return tuple(found)


def explained(run: Run) -> Iterator[Violation]:
    """Each count that was written follows from answers that this process was given, the spec and the history."""
    for each in judged(run):
        for written in run.journal.scales:
            if written.target != each.plan.key or written.after == written.before:
                continue
            if run.is_forced(written) or run.may_have_rival(written.target, written.sent_at):
                continue
            reason = _unexplained(run, each, written)
            if reason:
                yield Violation(
                    invariant="explained", at=written.at,
                    what=f"{written.process} set {written.target} from {written.read.replicas} to {written.after}: {reason}",
                )  # fmt: skip


def acted_on(run: Run) -> Iterator[Violation]:
    """A process that is given answers, period after period, which demand another count, writes one."""
    for each in judged(run):
        if not (each.plan.fields.is_dry_run or each.plan.fields.suspension):
            yield from _not_acted_on(run, each)


def _not_acted_on(run: Run, of: Judged) -> Iterator[Violation]:
    """The first demand that is not met."""
    found = unmet_demand(
        run, of.plan, of.reconciles, lambda each: _demanded(run, of, each),
        waits_seconds=2 * run.period_of(of.plan),
    )  # fmt: skip
    if found is not None:
        yield Violation(invariant="acted on", at=found.at, what=found.what)


def _has_hpa_rules(plan: AutoscalerPlan) -> bool:
    """Whether no additional field changes what the metrics want, or how far it may go at once.

    `wanted` knows of a rollout whether it is in progress, and how many pods are in excess, but not which ones.
    """
    fields, known = plan.fields, KNOWN_FIELDS
    if plan.groups == (EXTERNAL,) or fields.rollout == "HoldUp":
        known += ("rollout",)
    return not fields.sets_more_than(*known) and fields.forecast != "Add"


def _counts(may_want: set[int | None]) -> set[int]:
    return {each for each in may_want if each is not None}


def _history(run: Run, plan: AutoscalerPlan, reconciles: Sequence[Reconcile]) -> History:
    """Every recommendation that a reconcile may have made, and every change.

    The count that a process finds first counts as a recommendation, if it remembers none, as when it learns late that the
    autoscaler was created again. While nothing is reconciled, the
    last recommendation continues. To a process that claims the namespace, it is the one that was stored last. A count
    that has changed meanwhile, as by a restore, or since the memory was stored, may count as changed when it is found.
    """
    recommended: list[Recommended] = []
    found_changed: list[Changed] = []
    wanted_at: list[tuple[float, set[int]]] = []
    begun, before, latest = set[tuple[str, float, float]](), set[int](), 0.0
    for each in sorted(reconciles, key=lambda each: each.at):
        versions = run.targets_known(plan.key, each.at)
        may_want = wanted(each, versions)
        counts = _counts(may_want)
        created_at = created(run, plan, each.at)
        memory = (each.process, created_at, _claimed_without_memory_at(run, plan, each))
        is_late = each.at > latest + 1.5 * run.period_of(plan)
        found = (
            {version.replicas for version in versions} if memory not in begun or is_late else set()
        )
        if memory not in begun:
            found_changed += _found_since_stored(run, plan, each.at, versions)
        continued = before if is_late else set()
        recommended += [Recommended(each.at, count) for count in counts | found | continued]
        if is_late and latest and (known := _replicas(run, plan, latest)) is not None:
            found_changed += [
                Changed(each.at, version.replicas - known)
                for version in versions
                if version.replicas != known
            ]
        if created_at <= run.news_since(each.at):
            begun.add(memory)  # else it may remember those of the autoscaler before
        if counts:
            # A reconcile that may have failed leaves the recommendation before it.
            before, latest = counts | (before if None in may_want else set()), each.at
            wanted_at.append((each.at, before))
    recommended += _stored_last(run, plan, wanted_at)
    recommended += _found_before_metrics(run, plan, reconciles)
    changed = [
        Changed(each.at, each.after - each.read.replicas)
        for each in run.journal.scales
        if each.target == plan.key
    ]
    return History(recommended=tuple(recommended), changed=(*changed, *found_changed))


def _found_since_stored(
    run: Run, plan: AutoscalerPlan, at: float, versions: Sequence[TargetVersion]
) -> Iterator[Changed]:
    """What a process that begins finds to be changed: the writes of the memory may have failed since the last one."""
    stores = [each.at for each in run.stores_of_memories if each.key == plan.key and each.at <= at]
    known = _replicas(run, plan, max(stores)) if stores else None
    if known is not None:
        yield from (
            Changed(at, each.replicas - known) for each in versions if each.replicas != known
        )


def _found_before_metrics(
    run: Run, plan: AutoscalerPlan, reconciles: Sequence[Reconcile]
) -> Iterator[Recommended]:
    """The counts with which processes began that set another one before they read a metric. Until then, they count as recommended."""
    for written in run.journal.scales:
        if written.target == plan.key and not any(
            each.process == written.process and each.at <= written.sent_at for each in reconciles
        ):
            following = [each.at for each in reconciles if each.at > written.sent_at]
            for at in (written.sent_at, *following[:1]):
                yield Recommended(at, written.read.replicas)


def _stored_last(
    run: Run, plan: AutoscalerPlan, wanted_at: Sequence[tuple[float, set[int]]]
) -> Iterator[Recommended]:
    """What lasted, as far as a process can read, until it claimed the namespace: writes of the memory may have failed since.

    Or until a restore brought the autoscaler back with it. If that is longer ago than the window, another count shows that the
    one before went on.
    """
    stores = [each.at for each in run.stores_of_memories if each.key == plan.key]
    read = [(each.at, each.at) for each in run.journal.held(plan.namespace) if each.process]
    read += [
        (each.at, each.backup_at)
        for each in run.journal.restores
        if existed_before(run, plan, each.at)
    ]
    for at, until in read:
        stored_at = max((each for each in stores if each <= until), default=0.0)
        is_recent = at - stored_at <= window_of(run, plan)
        if is_recent or _replicas(run, plan, at) == _replicas(run, plan, stored_at):
            known = [counts for moment, counts in wanted_at if moment <= stored_at]
            yield from (Recommended(at, each) for each in (known[-1] if known else ()))


def _replicas(run: Run, plan: AutoscalerPlan, at: float) -> int | None:
    """How many were wanted of its target at this moment."""
    versions = [each.replicas for each in run.journal.targets[plan.key] if each.at <= at]
    return versions[-1] if versions else None


def _claimed_without_memory_at(run: Run, plan: AutoscalerPlan, reconcile: Reconcile) -> float:
    """When its process last claimed the namespace, if it has got no memory since that can be read; otherwise 0."""
    if run.scenario.kind.keeps_history:
        return 0.0
    process, at = reconcile.process, reconcile.at
    claims = run.journal.held(plan.namespace)
    claimed_at = max(
        (each.at for each in claims if each.process == process and each.at <= at), default=0.0
    )
    reads = [
        each for each in run.journal.memories_read
        if each.process == process and each.key == plan.key and claimed_at <= each.at <= at
    ]  # fmt: skip
    return claimed_at if not reads or reads[-1].is_damaged else 0.0


def _unexplained(run: Run, of: Judged, written: ScaleWritten) -> str:
    """Why nothing explains it; empty if something does."""
    before = [
        each
        for each in of.reconciles
        if each.process == written.process and each.at <= written.sent_at
    ]
    if not before:
        return "its process had requested no metric"
    may_want = wanted(before[-1], [written.read])
    counts = _counts(may_want)
    current, bounds = written.read.replicas, run.bounds_known(written)
    ranges = set[tuple[int, int]]().union(
        *(
            _ranges(run, of, before[-1], counts, bounds, current, at)
            for at in (run.decided_at(written), written.sent_at)
        )
    )
    if any(low <= written.after <= high for low, high in ranges):
        return ""
    return f"the metrics want {sorted(counts)}, which allows {_shown(ranges) or 'no change'}"


def _ranges(
    run: Run,
    of: Judged,
    reconcile: Reconcile,
    counts: Iterable[int],
    bounds: Sequence[Bounds],
    current: int,
    at: float,
) -> set[tuple[int, int]]:
    """For each count that the metrics may want, with each spec that may be known, what may become of it."""
    found = set[tuple[int, int]]()
    for count, each in itertools.product(counts, bounds):
        low, high = _range(run, of, each, count, current, at)
        for in_rollout in reconcile.rollouts:
            is_held = in_rollout and of.plan.fields.rollout == "HoldUp"
            most = max(current, each.min_replicas) if is_held else high
            found.add((min(low, most), min(high, most)))
    return found


def _shown(ranges: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{low}..{high}" for low, high in sorted(ranges))


def _range(
    run: Run, of: Judged, bounds: Bounds, count: int, current: int, at: float
) -> tuple[int, int]:
    """The lowest and the highest count that may become of it, whatever is remembered."""
    spec: Document = {
        **bounds.spec, "minReplicas": bounds.min_replicas, "maxReplicas": bounds.max_replicas,
    }  # fmt: skip
    found = [
        normalized(
            count, current, spec, known,
            # Ages are in whole seconds, and of clocks that were stepped whatever they say.
            now=since if run.journal.clocks_stepped else at - ROUNDING_SECONDS,
            window_seconds=run.scenario.window,
        )
        for since in created_as_known(run, of.plan, at)
        for known in of.history.alternatives(*_spans(run, of.plan, since, at))
    ]  # fmt: skip
    return min(found), max(found)


def _spans(run: Run, plan: AutoscalerPlan, since: float, until: float) -> list[tuple[float, float]]:
    """When the autoscaler that was created then has existed, also before a restore that brought it back."""
    before = existed_before(run, plan, since)
    return [(since, until), *([before] if before is not None else [])]


def _demanded(run: Run, of: Judged, reconcile: Reconcile) -> str:
    """Which change all that the process may know demands; empty if none is certain."""
    plan, at = of.plan, reconcile.until
    current = certain_replicas(run, plan, reconcile)
    bounds = run.bounds_known_by(reconcile.process, plan.key, at, (reconcile.at, at))
    if current is None or not bounds:
        return ""
    may_want = wanted(reconcile, versions_around(run, plan, reconcile))
    counts = _counts(may_want)
    is_within = all(each.min_replicas <= current <= each.max_replicas for each in bounds)
    if None in may_want or not is_within:
        return ""
    ranges = _ranges(run, of, reconcile, counts, bounds, current, at)
    if not any(high for _, high in ranges) and _may_not_mark_zero(run, reconcile):
        return ""
    if all(low > current for low, _ in ranges) or all(high < current for _, high in ranges):
        return f"{current} replicas, the metrics want {_shown(ranges)}"
    return ""


def _may_not_mark_zero(run: Run, reconcile: Reconcile) -> bool:
    """Whether the status may not be writable, which is written before a target is scaled to zero.

    A write on the basis of an object that is not kept up to date is refused.
    """
    refused = [
        (each.at, each.at + each.seconds)
        for each in run.faults
        if each.kind in ("api", "crd") or (each.kind, each.where) == ("writes", "status")
    ]
    outdated = [
        (each.at, each.at + each.seconds + BACKOFF_SECONDS)
        for each in run.faults
        if (each.kind, each.where) == ("watches", run.scenario.kind.plural)
        or (each.kind in ("api", "crd", "partition") and _has_restore(run, each))
    ]
    return any(
        begin <= reconcile.until and reconcile.at <= end for begin, end in refused + outdated
    )


def _has_restore(run: Run, fault: Fault) -> bool:
    """Whether etcd was restored during it: the autoscalers are not listed again before it is over, and then after a pause."""
    return any(fault.at <= each.at <= fault.at + fault.seconds for each in run.journal.restores)
