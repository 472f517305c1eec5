"""How far a candidate has come: which step, or why it was aborted. An aborted candidate never decides again.

A step is held only while everything is known that could end it: the metrics of `abortWhen`, and its own decision.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.extensions.candidate.rules import AbortRule, CandidateRules
from scaler.extensions.candidate.state import CandidateState
from wire.api.quantity import format_milli

PROGRESSING = "Progressing"
COMPLETED = "Completed"
ABORTED = "Aborted"
SHADOW = "DryRun"
METRIC_FAILED = "AbortMetricFailed"
FAILED = "CandidateFailed"
WAITING = "Waiting"

# A reconcile that comes later than that follows a time without decisions.
_PERIODS_MAX = 3.0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The state, and the share that the candidate decides now. `reason` is that of CandidateProgressing."""

    memory: CandidateState
    weight_percent: int
    reason: str
    message: str


def progressed(
    rules: CandidateRules,
    before: CandidateState,
    values_milli: Sequence[int | None],
    *,
    period_seconds: float,
    failure: str | None,
    was_applied: bool,
    now_unix_seconds: float,
) -> Progress:
    """`values_milli` are those of `abortWhen`, None for a failed one; `failure` is why the candidate cannot decide, if it cannot.

    `was_applied`: whether the target has what was decided last. Otherwise no metric shows what it does.
    """
    if before.aborted:
        return _progress(before, 0, ABORTED, _aborted(before.aborted))
    memory = _with_breaches(rules, before, values_milli, now_unix_seconds)
    if problem := _breach(rules, memory, values_milli, now_unix_seconds):
        memory = msgspec.structs.replace(memory, aborted=problem)
        return _progress(memory, 0, ABORTED, _aborted(problem))
    unknown = [
        rule.name
        for rule, value in zip(rules.abort_when, values_milli, strict=True)
        if value is None
    ]
    if unknown or failure:
        memory = msgspec.structs.replace(memory, held_at_unix_seconds=now_unix_seconds)
        if unknown:
            message = f"the spec decides while {', '.join(unknown)} of abortWhen has no value"
            return _progress(memory, 0, METRIC_FAILED, message)
        return _progress(
            memory, 0, FAILED, f"the spec decides while the candidate cannot: {failure}"
        )
    memory = _held(rules, memory, period_seconds if was_applied else 0.0, now_unix_seconds)
    if rules.is_shadow:
        return _progress(
            memory, 0, SHADOW, "the candidate is only reported, because its mode is DryRun"
        )
    if memory.step >= len(rules.steps):
        weight = rules.steps[-1][0]
        message = f"all steps are done, and the candidate's weight is {weight}%: replace the fields of the spec with it"
        return _progress(memory, weight, COMPLETED, message)
    weight, hold_seconds = rules.steps[memory.step]
    message = (
        f"step {memory.step + 1} of {len(rules.steps)}: the candidate has a weight of {weight}% "
        f"for {hold_seconds:g} s"
    )
    return _progress(memory, weight, PROGRESSING, message)


def waiting_remark(memory: CandidateState | None) -> Remark:
    """The condition while nothing is decided by metrics."""
    aborted = "" if memory is None else memory.aborted
    return Remark(
        condition=ConditionType.CANDIDATE_PROGRESSING,
        active=False,
        reason=ABORTED if aborted else WAITING,
        message=_aborted(aborted)
        if aborted
        else "the candidate waits until the metrics of the spec decide",
    )


def blended(of_spec: int, of_candidate: int, weight_percent: int) -> int:
    """The count between both decisions, rounded towards more replicas."""
    return of_spec - (of_spec - of_candidate) * weight_percent // 100


def _progress(memory: CandidateState, weight: int, reason: str, message: str) -> Progress:
    return Progress(memory=memory, weight_percent=weight, reason=reason, message=message)


def _aborted(problem: str) -> str:
    return f"the spec decides, because {problem}; a changed candidate starts again"


def _with_breaches(
    rules: CandidateRules,
    before: CandidateState,
    values_milli: Sequence[int | None],
    now: float,
) -> CandidateState:
    old = before.breached_since_unix_seconds or (None,) * len(rules.abort_when)
    since = tuple(
        _since(rule, value, known, now)
        for rule, value, known in zip(rules.abort_when, values_milli, old, strict=True)
    )
    if not any(each is not None for each in since):
        since = ()
    return msgspec.structs.replace(before, breached_since_unix_seconds=since)


def _since(rule: AbortRule, value: int | None, known: float | None, now: float) -> float | None:
    """A value that is unknown neither begins nor ends it."""
    if value is None:
        return known
    if not _applies(rule, value):
        return None
    return now if known is None else known


def _applies(rule: AbortRule, value: int) -> bool:
    if rule.above_milli is not None:
        return value > rule.above_milli
    return rule.below_milli is not None and value < rule.below_milli


def _breach(
    rules: CandidateRules,
    memory: CandidateState,
    values_milli: Sequence[int | None],
    now: float,
) -> str | None:
    since = memory.breached_since_unix_seconds
    for rule, value, began in zip(rules.abort_when, values_milli, since, strict=False):
        if began is None or value is None or now - began < rule.for_seconds:
            continue
        side, limit = ("above", rule.above_milli)
        if limit is None:
            side, limit = "below", rule.below_milli
        return (
            f"{rule.name} is {format_milli(value)}, and has been {side} "
            f"{format_milli(limit or 0)} for {now - began:.0f} s"
        )
    return None


def _held(
    rules: CandidateRules, memory: CandidateState, period: float, now: float
) -> CandidateState:
    """One more reconcile of the step, or the next step; a shadow stays at the first one.

    A time in which nothing was decided or applied, such as that of a restart, does not count.
    """
    if memory.held_at_unix_seconds is None or rules.is_shadow:
        return msgspec.structs.replace(memory, held_at_unix_seconds=now)
    passed = max(0.0, now - memory.held_at_unix_seconds)
    held = memory.held_seconds + min(passed, _PERIODS_MAX * period)
    step = memory.step
    while step < len(rules.steps) and held >= rules.steps[step][1]:
        step, held = step + 1, held - rules.steps[step][1]
    return msgspec.structs.replace(memory, step=step, held_seconds=held, held_at_unix_seconds=now)
