"""What each reconcile may have decided, from the answers that its process was given: an independent judgment.

A reconcile is what the API servers see of it: requests of a process for all metrics of a target, one after the other. What
they were answered, the pods, and the replicas go through the model of the HPA controller (`tests/hpa_model`). Where the
process may have seen one state or another one, each of them counts.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from tests.hpa_model import metrics
from tests.hpa_model.metrics import Rules, Target
from tests.simulation.attempts import (
    DEADLINE_ERROR_SECONDS,
    MOMENT_SECONDS,
    Attempts,
    Measured,
    attempts_by_process,
    measured_of,
    request_key,
)
from tests.simulation.cluster import Document
from tests.simulation.invariants import Run, deadline_seconds
from tests.simulation.journal import Measurement, PodList, TargetVersion
from tests.simulation.metrics_apis import RESOURCE, metric_spec
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan

RULES = Rules()

# Two invariants ask for the same reconciles of one run, a third one for those before a write.
_WANTED_MAX = 16_384

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
    rollouts: tuple[bool, ...]
    """Whether it may have taken a rollout for in progress, or not."""


def reconciles_of(run: Run, plan: AutoscalerPlan) -> Iterator[Reconcile]:
    """Those of an autoscaler, for each process in their order."""
    measured = measured_of(run, plan)
    for of_process in attempts_by_process(run, plan, measured).values():
        for together in _together(of_process):
            yield _reconcile(run, plan, together, measured)


def _together(every: Iterable[Attempts]) -> Iterator[list[Attempts]]:
    """A reconcile requests each metric once."""
    found: dict[str, Attempts] = {}
    for attempts in every:
        group = attempts[0].group
        if group in found:
            yield list(found.values())
            found = {}
        found[group] = attempts
    if found:
        yield list(found.values())


def _reconcile(
    run: Run, plan: AutoscalerPlan, attempts: Sequence[Attempts], measured: Measured
) -> Reconcile:
    answered = {each[0].group: measured.get(request_key(each[-1])) for each in attempts}
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
        rollouts=_rollouts_known(run, plan, at, until),
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
    found = set[int | None]()
    for seen, now in itertools.product(reconcile.pods, reconcile.clocks):
        target = Target(spec_replicas=replicas, status_replicas=status, pods=seen, now=now)
        for answers in reconcile.answers:
            found |= {
                _count(reconcile.plan, target, answers, in_rollout=each)
                for each in reconcile.rollouts
            }
    return frozenset(found)


def _count(
    plan: AutoscalerPlan, target: Target, answers: Answers, *, in_rollout: bool
) -> int | None:
    """While a rollout is in progress, pods in excess of the replicas do not raise a count (`IgnoreSurge`), or nothing does (`HoldUp`)."""
    count, policy = _combined(plan, target, answers), plan.fields.rollout
    replicas = target.spec_replicas
    if not in_rollout or count is None or count <= replicas:
        return count
    if policy == "HoldUp":
        return replicas
    if policy != "IgnoreSurge":
        return count
    pods = min(target.status_replicas, replicas)
    fewer = _combined(plan, msgspec.structs.replace(target, status_replicas=pods), answers)
    return count if fewer is None else max(replicas, min(count, fewer))


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


def _rollouts_known(run: Run, plan: AutoscalerPlan, at: float, until: float) -> tuple[bool, ...]:
    changes = [each for each in run.journal.rollouts if each.target == plan.key]
    since = run.known_since(at)
    before = [each.is_in_progress for each in changes if each.at <= since] or [False]
    during = [each.is_in_progress for each in changes if since < each.at <= until]
    return tuple(sorted({before[-1], *during}))


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
