"""Pure: one decision as the page shows it. Headline, counts, limits and waterfall are of the same reconcile."""

from datetime import datetime
from typing import Final

import msgspec

from kubectl_loadline.decisions.metric_names import explained, in_prometheus_words
from kubectl_loadline.page.waterfall import Row as WaterfallRow
from kubectl_loadline.page.waterfall import waterfall
from kubectl_loadline.status.row import limits_of
from scaler.algorithm.bounds import DESIRED_WITHIN_RANGE
from scaler.algorithm.decision import Branch
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.history import Extensions
from scaler.algorithm.why import headline, summarize
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerStatus,
    Condition,
    ConditionStatus,
    ConditionType,
)

_INACTIVE: Final = {
    Branch.SHARED_TARGET: "AmbiguousSelector",
    Branch.DISABLED: "ScalingDisabled",
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided, when, and why. `difference` is empty if the stored status is of the same decision."""

    headline: str
    current: int | None
    desired: int | None
    min: int | None
    max: int | None
    is_dry_run: bool
    limited_by: tuple[str, ...]
    decided_at: datetime
    seconds_ago: int
    difference: str
    steps: tuple[WaterfallRow, ...]
    text: str
    """The whole explanation, as `why` prints it."""


def verdict(
    derivation: Derivation, autoscaler: Autoscaler, extensions: Extensions, now_unix_seconds: float
) -> Verdict:
    """`autoscaler` was read just before the decision: with its status as it was stored then."""
    said = in_prometheus_words(headline(derivation))
    return Verdict(
        headline=f"{said[:1].upper()}{said[1:]}",
        current=derivation.current_replicas,
        desired=_desired(derivation),
        min=derivation.min_replicas,
        max=derivation.max_replicas,
        is_dry_run=derivation.is_dry_run,
        limited_by=limits(derivation, autoscaler, extensions),
        decided_at=datetime.fromtimestamp(derivation.made_at_unix_seconds).astimezone(),
        seconds_ago=max(0, round(now_unix_seconds - derivation.made_at_unix_seconds)),
        difference=difference(derivation, autoscaler.status),
        steps=waterfall(derivation, extensions),
        text=explained(derivation, extensions),
    )


def difference(derivation: Derivation, status: AutoscalerStatus | None) -> str:
    """One sentence, if the stored status has other counts than the decision."""
    current, desired = derivation.current_replicas, derivation.desired_replicas
    # Without a decision, the status keeps the count that was desired before.
    if status is None or current is None or desired is None:
        return ""
    if (status.current_replicas, status.desired_replicas) == (current, desired):
        return ""
    return (
        f"The status of the object is from another reconcile: {status.current_replicas} current and "
        f"{status.desired_replicas} desired."
    )


def limits(
    derivation: Derivation, autoscaler: Autoscaler, extensions: Extensions
) -> tuple[str, ...]:
    """As of a row, but of this decision: from the status that it results in."""
    schedule = None if autoscaler.status is None else autoscaler.status.schedule
    return limits_of(
        AutoscalerStatus(
            conditions=_conditions(derivation),
            decision=summarize(derivation, extensions),
            schedule=schedule,
        )
    )


def _conditions(derivation: Derivation) -> tuple[Condition, ...]:
    branch = Branch(derivation.branch)
    if branch is Branch.NO_SCALE:
        return (_condition(ConditionType.ABLE_TO_SCALE, ConditionStatus.FALSE),)
    found = [
        _condition(each.condition, ConditionStatus.TRUE, each.reason)
        for each in derivation.remarks
        if each.active and each.condition == ConditionType.METRIC_FALLBACK_ACTIVE
    ]
    is_undecided = branch is Branch.METRICS and derivation.desired_replicas is None
    if branch in _INACTIVE or is_undecided:
        reason = _INACTIVE.get(branch, "")
        found.append(_condition(ConditionType.SCALING_ACTIVE, ConditionStatus.FALSE, reason))
    bound = derivation.bound
    if bound is not None and bound.reason != DESIRED_WITHIN_RANGE:
        found.append(_condition(ConditionType.SCALING_LIMITED, ConditionStatus.TRUE, bound.reason))
    return tuple(found)


def _condition(type_: str, status: str, reason: str = "") -> Condition:
    return Condition(type=type_, status=status, reason=reason)


def _desired(derivation: Derivation) -> int | None:
    """Where nothing could be decided, the replicas stay."""
    desired = derivation.desired_replicas
    return derivation.current_replicas if desired is None else desired
