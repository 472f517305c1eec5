"""Pure: what `spec.suspend` and `spec.mode: DryRun` leave of a decision, in numbers and in words."""

import msgspec

from scaler.algorithm.policy import Suspension
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.api.extension_spec import SuspendDirection

DRY_RUN = Remark(
    condition=ConditionType.DRY_RUN,
    active=True,
    reason="DryRun",
    message="decisions are reported but not carried out, because spec.mode is DryRun",
)

_SUSPENDED: dict[str, str] = {
    SuspendDirection.UP: "scaling up is suspended",
    SuspendDirection.DOWN: "scaling down is suspended",
}


class Suspended(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas that may be written, and why."""

    replicas: int
    reason: str = ""
    remark: Remark


def suspend(suspension: Suspension, *, current: int, desired: int, now: float) -> Suspended:
    """Hold back the changes of the suspended direction; `now` in Unix seconds. Bounds are suspended too."""
    if not suspension.is_active(now):
        remark = Remark(
            condition=ConditionType.SUSPENDED,
            active=False,
            reason="SuspensionEnded",
            message=f"the suspension ended at {suspension.until}",
        )
        return Suspended(replicas=desired, remark=remark)
    replicas = _allowed(suspension, current=current, desired=desired)
    message = _message(suspension)
    remark = Remark(
        condition=ConditionType.SUSPENDED,
        active=True,
        reason="Suspended",
        message=message,
        detail=f"Without that it would have {desired}." if replicas != desired else "",
        holds=replicas != desired,
    )
    return Suspended(
        replicas=replicas, reason=message if replicas != current else "", remark=remark
    )


def _allowed(suspension: Suspension, *, current: int, desired: int) -> int:
    if suspension.replicas is not None:
        return suspension.replicas
    match suspension.direction:
        case SuspendDirection.UP:
            return min(desired, current)
        case SuspendDirection.DOWN:
            return max(desired, current)
        case _:
            return current


def _message(suspension: Suspension) -> str:
    words = _SUSPENDED.get(suspension.direction, "scaling is suspended")
    if suspension.replicas is not None:
        words += f" at {suspension.replicas} replicas"
    return f"{words} until {suspension.until}" if suspension.until else words
