"""Pure: the conditions of a status, and the words in them.

A condition is appended when it is first used, and changed in place from then on. Its time changes only
when its status does. All texts are upstream's, so that dashboards and alerts keep working.
"""

from collections.abc import Collection, Sequence

from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import (
    Condition,
    ConditionStatus,
    ConditionType,
)
from wire.api.meta import time_from_unix

RESCALED = "SucceededRescale"
"""The reason of AbleToScale after a write of the Scale that has succeeded."""
MESSAGE_OF_REASON = {
    "SucceededGetScale": "the HPA controller was able to get the target's current scale",
    "ScalingDisabled": "scaling is disabled since the replica count of the target is zero",
    "ReadyForNewScale": "recommended size matches current size",
    "ScaleUpStabilized": "recent recommendations were lower than current one, "
    "applying the lowest recent recommendation",
    "ScaleDownStabilized": "recent recommendations were higher than current one, "
    "applying the highest recent recommendation",
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
    "DesiredWithinRange": "the desired count is within the acceptable range",
    "ScaledToZero": "the HPA controller scaled the workload to zero",
    "NotScaledToZero": "the HPA controller did not scale the workload to zero",
}


class Conditions:
    """The conditions of one reconcile as it proceeds, starting from those of the last status."""

    def __init__(self, conditions: Sequence[Condition] | None, now_unix_seconds: float) -> None:
        self._conditions = list(conditions or ())
        self._now = time_from_unix(now_unix_seconds)

    def as_tuple(self) -> tuple[Condition, ...]:
        """The conditions so far."""
        return tuple(self._conditions)

    def able_to_scale(self, reason: str) -> None:
        """The target can be read, and written if that was tried."""
        self._set(ConditionType.ABLE_TO_SCALE, ConditionStatus.TRUE, reason, "")

    def unable_to_get_scale(self, error: str) -> None:
        """The target cannot be read."""
        message = f"the HPA controller was unable to get the target's current scale: {error}"
        self._set(ConditionType.ABLE_TO_SCALE, ConditionStatus.FALSE, "FailedGetScale", message)

    def unable_to_update_scale(self, error: str) -> None:
        """The target cannot be written."""
        message = f"the HPA controller was unable to update the target scale: {error}"
        self._set(ConditionType.ABLE_TO_SCALE, ConditionStatus.FALSE, "FailedUpdateScale", message)

    def rescaled(self, replicas: int) -> None:
        """The target was written."""
        message = f"the HPA controller was able to update the target scale to {replicas}"
        self._set(ConditionType.ABLE_TO_SCALE, ConditionStatus.TRUE, RESCALED, message)

    def scaling_active(self, metric: str) -> None:
        """The metrics allowed a recommendation."""
        message = "the HPA was able to successfully calculate a replica count from " + metric
        self._set(ConditionType.SCALING_ACTIVE, ConditionStatus.TRUE, "ValidMetricFound", message)

    def scaling_inactive(self, reason: str, message: str = "") -> None:
        """No recommendation was made."""
        self._set(ConditionType.SCALING_ACTIVE, ConditionStatus.FALSE, reason, message)

    def scaling_limited(self, reason: str, *, is_limited: bool) -> None:
        """Whether rate or bounds changed the recommendation."""
        status = ConditionStatus.TRUE if is_limited else ConditionStatus.FALSE
        self._set(ConditionType.SCALING_LIMITED, status, reason)

    def held(self, reason: str, message: str) -> None:
        """The recommendation was not followed, because something is unknown that it depends on. Not upstream's."""
        self._set(ConditionType.SCALING_LIMITED, ConditionStatus.TRUE, reason, message)

    def scaled_to_zero(self, *, by_controller: bool) -> None:
        """Whether it was the controller that scaled to zero; that is what allows leaving zero again."""
        if by_controller:
            self._set(ConditionType.SCALED_TO_ZERO, ConditionStatus.TRUE, "ScaledToZero")
        else:
            self._set(ConditionType.SCALED_TO_ZERO, ConditionStatus.FALSE, "NotScaledToZero")

    def left_zero(self) -> None:
        """The target is above zero, whether a user has scaled it up or not: a later zero is another one. Not upstream's."""
        if any(_says_scaled_to_zero(each) for each in self._conditions):
            self.scaled_to_zero(by_controller=False)

    def remove_scaled_to_zero(self) -> None:
        """While scaling to zero is off, the condition has no meaning."""
        self._conditions = [
            each for each in self._conditions if each.type != ConditionType.SCALED_TO_ZERO
        ]

    def remarked(self, remarks: Sequence[Remark], known: Collection[str]) -> None:
        """What extensions say; those of the `known` conditions that no remark sets are removed."""
        present = {remark.condition for remark in remarks}
        self._conditions = [
            each for each in self._conditions if each.type in present or each.type not in known
        ]
        for remark in remarks:
            status = ConditionStatus.TRUE if remark.active else ConditionStatus.FALSE
            self._set(remark.condition, status, remark.reason, remark.message)

    def _set(self, type_: str, status: ConditionStatus, reason: str, message: str = "") -> None:
        place = next(
            (i for i, each in enumerate(self._conditions) if each.type == type_),
            len(self._conditions),
        )
        found = self._conditions[place : place + 1]
        same = bool(found) and found[0].status == status
        self._conditions[place : place + 1] = [
            Condition(
                type=str(type_),
                status=status.value,
                observed_generation=found[0].observed_generation if found else None,
                last_transition_time=found[0].last_transition_time if same else self._now,
                reason=reason,
                message=message or MESSAGE_OF_REASON[reason],
            )
        ]


def _says_scaled_to_zero(condition: Condition) -> bool:
    is_true = condition.status == ConditionStatus.TRUE
    return condition.type == ConditionType.SCALED_TO_ZERO and is_true


def unable_to_compute(message: str) -> str:
    """The message of ScalingActive for a failed metric."""
    return f"the HPA was unable to compute the replica count: {message}"
