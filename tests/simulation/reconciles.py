"""What each reconcile may have decided, from the answers that its process was given: an independent judgment.

A reconcile is what the API servers see of it: requests of a process for all metrics of a target, one after the other. What
they were answered, the pods, and the replicas go through the model of the HPA controller (`tests/hpa_model`). Where the
process may have seen one state or another one, each of them counts.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from tests.hpa_model import metrics
from tests.hpa_model.metrics import Rules, Target
from tests.simulation.cluster import Document
from tests.simulation.invariants import Run, deadline_seconds
from tests.simulation.journal import Measurement, PodList, TargetRequest, TargetVersion
from tests.simulation.metrics_apis import RESOURCE, metric_spec
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan

RULES = Rules()
# From an answer to the decision.
MOMENT_SECONDS = 0.1
# A request whose connection was closed is sent again within this time.
REPEATED_SECONDS = 1.0
# A server that is busy (429, Retry-After) is waited for so often, and so long at most each time.
BUSY_PAUSES, BUSY_PAUSE_SECONDS = 3, 3.0
# Part of the deadline of a metric, after which a direct request without a response is repeated through kube-apiserver.
DIRECT_DEADLINES = 0.5
# Around the deadline of a metric it is open whether an answer still counts.
DEADLINE_ERROR_SECONDS = 0.2

# Two invariants ask for the same reconciles of one run, a third one for those before a write.
_WANTED_MAX = 16_384

Attempts = Sequence[TargetRequest]
"""The requests of a reconcile for one metric; the answer to the last one counts, within the deadline from the first one."""

Measured = Mapping[tuple[str, str, float], Measurement]
"""The answers by process, API group and time of the request."""

Answers = tuple[Document | None, ...]
"""One for each metric of the spec; None: it is invalid."""


class Reconcile(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Of one target by one process. `at` is its first request for a metric, `until` the last answer to one."""

    plan: AutoscalerPlan
    at: float
    until: float
    process: str
    answers: tuple[Answers, ...]
    """All that it may have got: an answer that is late may count or not."""
    pods: tuple[tuple[Document, ...], ...]
    """All lists of pods that it may have known."""
    clocks: tuple[float, ...]
    """What it may have taken for the time, in Unix seconds."""


def reconciles_of(run: Run, plan: AutoscalerPlan) -> Iterator[Reconcile]:
    """Those of an autoscaler, for each process in their order."""
    requested = [
        each
        for each in run.journal.target_requests
        if each.target == plan.key and each.group in plan.groups
    ]
    measured = {
        (each.process, each.group, each.sent_at): each
        for each in run.journal.measurements
        if each.target == plan.key
    }
    for _, requests in itertools.groupby(sorted(requested, key=_process), key=_process):
        for together in _together(run, plan, list(requests), measured):
            yield _reconcile(run, plan, together, measured)


def _request_key(requested: TargetRequest) -> tuple[str, str, float]:
    return requested.process, requested.group, requested.at


def _process(requested: TargetRequest) -> str:
    return requested.process


def _together(
    run: Run, plan: AutoscalerPlan, requests: Sequence[TargetRequest], measured: Measured
) -> Iterator[list[Attempts]]:
    """A reconcile requests each metric once, in the order of the spec, or again if it has got no answer."""
    found: dict[str, list[TargetRequest]] = {}
    for each in requests:
        before = found.get(each.group)
        if before is None:
            begins = any(
                plan.groups.index(each.group) < plan.groups.index(group) for group in found
            )
        else:
            begins = not _is_repeated(run, plan, before, each, measured)
        if begins:
            yield list(found.values())
            found = {}
        found.setdefault(each.group, []).append(each)
    if found:
        yield list(found.values())


def _is_repeated(
    run: Run, plan: AutoscalerPlan, attempts: Attempts, then: TargetRequest, measured: Measured
) -> bool:
    """Whether the same reconcile sends a request again: at once if the connection ended, after a pause if the server was busy, or
    through kube-apiserver if the adapter does not respond.
    """
    before = attempts[-1]
    answer = measured.get(_request_key(before))
    # A server may answer later, on a connection that has ended.
    if answer is not None and answer.document is not None and answer.at <= then.at:
        return False
    if then.at > attempts[0].at + deadline_seconds(run, plan) + DEADLINE_ERROR_SECONDS:
        return False
    is_forwarded = before.is_direct and not then.is_direct
    wait_seconds = DIRECT_DEADLINES * deadline_seconds(run, plan) if is_forwarded else 0.0
    if len(attempts) <= BUSY_PAUSES:
        wait_seconds = max(wait_seconds, _busy_seconds(run, before.at))
    ended_at = [each for each in _connections_ended_at(run) if before.at < each <= then.at]
    last_at = max([before.at + wait_seconds, *ended_at])
    return then.at <= last_at + REPEATED_SECONDS


def _busy_seconds(run: Run, at: float) -> float:
    """How long a server that was busy then is waited for until the next attempt."""
    pauses = [
        min(each.amount, BUSY_PAUSE_SECONDS)
        for each in run.faults
        if each.how == "throttled" and each.at <= at + MOMENT_SECONDS and at <= each.at + each.seconds + MOMENT_SECONDS
    ]  # fmt: skip
    return max(pauses, default=0.0)


def _connections_ended_at(run: Run) -> Iterator[float]:
    """When another API server, or another state of it, was reached."""
    for each in run.faults:
        if each.kind in ("balancer", "restore"):
            yield from (each.at, each.at + each.seconds)


def _reconcile(
    run: Run, plan: AutoscalerPlan, attempts: Sequence[Attempts], measured: Measured
) -> Reconcile:
    answered = {each[0].group: measured.get(_request_key(each[-1])) for each in attempts}
    first = {each[0].group: each[0].at for each in attempts}
    possible = [
        _possible(run, plan, answered.get(group), first.get(group, 0.0)) for group in plan.groups
    ]
    times = [each.at for each in answered.values() if each is not None]
    at, until = min(first.values()), max((*times, *(each[-1].at for each in attempts)))
    process = attempts[0][0].process
    return Reconcile(
        plan=plan,
        at=at,
        until=until,
        process=process,
        answers=tuple(itertools.product(*possible)),
        pods=tuple(_pods_known(run, plan, at, _decided_at(run, plan, process, at, until))),
        clocks=_clocks(run, plan, process, at, until),
    )


def _possible(
    run: Run, plan: AutoscalerPlan, measured: Measurement | None, requested_at: float
) -> list[Document | None]:
    """What the scaler may have got for a metric that it has requested then for the first time."""
    if measured is None or measured.document is None:
        return [None]
    late_seconds = measured.at - requested_at - deadline_seconds(run, plan)
    if late_seconds > DEADLINE_ERROR_SECONDS:
        return [None]
    paused = any(
        each.kind == "pause" and each.at <= measured.at + MOMENT_SECONDS
        and requested_at <= each.at + each.seconds
        for each in run.faults
    )  # fmt: skip
    is_open = paused or late_seconds > -DEADLINE_ERROR_SECONDS
    return [measured.document, None] if is_open else [measured.document]


def wanted(reconcile: Reconcile, versions: Sequence[TargetVersion]) -> set[int | None]:
    """What the metrics may have wanted, of a target that had one of these versions; None: no change."""
    states = {(each.replicas, each.pods) for each in versions}
    return set[int | None]().union(*(_wanted_of(reconcile, *state) for state in states))


@lru_cache(maxsize=_WANTED_MAX)
def _wanted_of(reconcile: Reconcile, replicas: int, status: int) -> frozenset[int | None]:
    """The same of a target with so many replicas by its spec and its status."""
    found = set()
    for seen, now in itertools.product(reconcile.pods, reconcile.clocks):
        target = Target(spec_replicas=replicas, status_replicas=status, pods=seen, now=now)
        for answers in reconcile.answers:
            found.add(_combined(reconcile.plan, target, answers))
    return frozenset(found)


def _combined(plan: AutoscalerPlan, target: Target, answers: Answers) -> int | None:
    """The highest proposal; with an invalid metric nothing is scaled down."""
    proposals = [
        metrics.proposal(metric_spec(group, plan.name), answer, target, RULES)
        for group, answer in zip(plan.groups, answers, strict=True)
    ]
    valid = [each for each in proposals if each is not None]
    if not valid or (len(valid) < len(proposals) and max(valid) < target.spec_replicas):
        return None
    return max(valid)


def _pods_known(
    run: Run, plan: AutoscalerPlan, at: float, decided_at: float
) -> list[tuple[Document, ...]]:
    if plan.follows_a_queue:
        return [()]  # an external metric needs none
    lists = run.journal.pods[plan.key]
    since = run.news_since(at)
    before = [each for each in lists if each.at <= since]
    during: list[PodList] = [each for each in lists if since < each.at <= decided_at]
    return [each.pods for each in (*before[-1:], *during)] or [()]


def _decided_at(run: Run, plan: AutoscalerPlan, process: str, at: float, until: float) -> float:
    """When it had been decided at the latest: before it was written."""
    writes = run.journal.scale_writes(process, plan.key)
    return min((until + MOMENT_SECONDS, *(each for each in writes if each >= at)))


def _clocks(
    run: Run, plan: AutoscalerPlan, process: str, at: float, until: float
) -> tuple[float, ...]:
    """What the process may take for the time: the age of a pod decides whether its CPU counts."""
    epoch = run.scenario.epoch_unix_seconds
    if RESOURCE not in plan.groups:
        return (epoch + at,)
    offset = run.clock_offset(process, at)
    return (
        epoch + offset + at - CLOCK_ERROR_SECONDS,
        epoch + offset + until + CLOCK_ERROR_SECONDS,
    )
