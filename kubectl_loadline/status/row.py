"""Pure: an autoscaler in one line, for `status` and for the page."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from kubectl_loadline.cluster.autoscaler_name import short_name
from kubectl_loadline.decisions.metric_names import in_prometheus_words
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerStatus,
    Condition,
    ConditionStatus,
    ConditionType,
)
from scaler.api.kinds import WatchedKind

NOT_RECONCILED: Final = "no scaler"
"""The first of the limits: the others are not known yet."""
LIMITS: Final = (
    NOT_RECONCILED, "target", "metric", "disabled", "shared target", "window", "policy", "max", "min", "schedule",
    "fallback", "cooldown", "suspended", "rollout", "resize", "panic", "unready pods", "outdated cache",
)  # fmt: skip
"""What may hold an autoscaler; docs/kubectl-plugin.md explains each."""
PROBLEMS: Final = (NOT_RECONCILED, "target", "metric", "shared target", "outdated cache")
"""Those of them that are problems."""

_OF_SCALING_ACTIVE: Final[Mapping[str, str]] = {
    "ScalingDisabled": "disabled",
    "AmbiguousSelector": "shared target",
    "InvalidSelector": "target",
}
_OF_SCALING_LIMITED: Final[Mapping[str, str]] = {
    "ScaleUpLimit": "policy",
    "ScaleDownLimit": "policy",
    "TooManyReplicas": "max",
    "TooFewReplicas": "min",
    "InvalidSchedule": "schedule",
    "PendingSchedule": "schedule",
    "OutdatedCache": "outdated cache",
}
_OF_HELD_BY: Final[Mapping[str, str]] = {
    "Cooldown": "cooldown",
    "Suspended": "suspended",
    "ActualRequests": "resize",
    "RolloutHeld": "rollout",
    "HottestRevision": "rollout",
    "Panicking": "panic",
    "FutileScaleUp": "unready pods",
    "InvalidSchedule": "schedule",
    "PendingSchedule": "schedule",
    "OutdatedCache": "outdated cache",
}
_STABILIZED: Final = ("ScaleUpStabilized", "ScaleDownStabilized")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a user needs first. `current` and `desired` are None while they are not known."""

    kind: str
    namespace: str
    name: str
    target: str
    min: int
    max: int
    current: int | None = None
    desired: int | None = None
    limited_by: tuple[str, ...] = ()
    reason: str = ""
    dry_run: bool = False
    last_scaled_unix_seconds: float | None = None

    @property
    def key(self) -> str:
        """`la/shop/web`."""
        return f"{self.kind}/{self.namespace}/{self.name}"

    @property
    def mode(self) -> str:
        """`DryRun` or `Enforce`."""
        return "DryRun" if self.dry_run else "Enforce"

    @property
    def has_problem(self) -> bool:
        """Whether it has a problem, so that it belongs at the top."""
        return any(each in PROBLEMS for each in self.limited_by)


def row_of(autoscaler: Autoscaler, kind: WatchedKind) -> Row:
    """The row of one object."""
    spec, status = autoscaler.spec, autoscaler.status
    target = spec.scale_target_ref
    row = Row(
        kind=short_name(kind),
        namespace=autoscaler.metadata.namespace,
        name=autoscaler.metadata.name,
        target=f"{target.kind}/{target.name}",
        min=1 if spec.min_replicas is None else spec.min_replicas,
        max=spec.max_replicas,
        dry_run=autoscaler.is_dry_run,
    )
    if status is None or not status.conditions:
        return msgspec.structs.replace(
            row, limited_by=(NOT_RECONCILED,), reason="it has not been reconciled yet"
        )
    bounds = {}
    if status.schedule is not None:
        found = {"min": status.schedule.min_replicas, "max": status.schedule.max_replicas}
        bounds = {name: value for name, value in found.items() if value is not None}
    limited_by = limits_of(status)
    # Without the scale of the target nothing is known of its replicas; the counts of the status are then 0.
    is_known = "target" not in limited_by
    # Of an autoscaler whose metric has failed since it was created, the desired count of the status is 0.
    is_computed = not (
        "metric" in limited_by and status.desired_replicas == 0 and status.current_replicas > 0
    )
    scaled = status.last_scale_time
    return msgspec.structs.replace(
        row,
        **bounds,
        current=status.current_replicas if is_known else None,
        desired=status.desired_replicas if is_known and is_computed else None,
        limited_by=limited_by,
        reason=_reason(status),
        last_scaled_unix_seconds=None if scaled is None else scaled.timestamp(),
    )


def limits_of(status: AutoscalerStatus) -> tuple[str, ...]:
    """What holds or limits the count, in the order of `LIMITS`."""
    found = set(_limits(status))
    return tuple(each for each in LIMITS if each in found)


def _limits(status: AutoscalerStatus) -> Iterator[str]:
    conditions = {each.type: each for each in status.conditions or ()}
    able = conditions.get(ConditionType.ABLE_TO_SCALE)
    active = conditions.get(ConditionType.SCALING_ACTIVE)
    if _is(able, ConditionStatus.FALSE):
        yield "target"
    if active is not None and active.status == ConditionStatus.FALSE:
        yield _OF_SCALING_ACTIVE.get(active.reason, "metric")
    if _is(conditions.get(ConditionType.METRIC_FALLBACK_ACTIVE), ConditionStatus.TRUE):
        yield "fallback"
    if able is not None and able.reason in _STABILIZED:
        yield "window"
    limited = conditions.get(ConditionType.SCALING_LIMITED)
    if limited is not None and limited.status == ConditionStatus.TRUE:
        yield from _bound(limited.reason, status)
    if status.decision is not None:
        decision = status.decision
        if decision.stabilized_replicas not in (None, decision.proposed_replicas):
            yield "window"
        for reason in decision.held_by.split(", "):
            if reason:
                yield _OF_HELD_BY.get(reason, reason)


def _bound(reason: str, status: AutoscalerStatus) -> Iterator[str]:
    word = _OF_SCALING_LIMITED.get(reason, reason)
    yield word
    schedule = status.schedule
    if schedule is not None and schedule.active:
        bound = {"min": schedule.min_replicas, "max": schedule.max_replicas}.get(word)
        if bound is not None:
            yield "schedule"


def _is(condition: Condition | None, status: ConditionStatus) -> bool:
    return condition is not None and condition.status == status


def _reason(status: AutoscalerStatus) -> str:
    """One phrase: that of the status, or for an HPA the message of the condition that matters most."""
    if status.decision is not None and status.decision.summary:
        return in_prometheus_words(status.decision.summary)
    conditions = {each.type: each for each in status.conditions or ()}
    for type_, matters in (
        (ConditionType.ABLE_TO_SCALE, ConditionStatus.FALSE),
        (ConditionType.SCALING_ACTIVE, ConditionStatus.FALSE),
        (ConditionType.SCALING_LIMITED, ConditionStatus.TRUE),
    ):
        found = conditions.get(type_)
        if found is not None and found.status == matters:
            return found.message
    able = conditions.get(ConditionType.ABLE_TO_SCALE)
    if able is not None and able.reason in _STABILIZED:
        return able.message
    current, desired = status.current_replicas, status.desired_replicas
    if current == desired:
        return f"stays at {current} {'replica' if current == 1 else 'replicas'}"
    return f"goes from {current} to {desired} replicas"
