"""`spec.suspend`: nothing is scaled, or not in one direction, or to a fixed count."""

import math
from datetime import datetime

import msgspec

from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.api.extension_spec import SuspendDirection

_SUSPENDED: dict[str, str] = {
    SuspendDirection.UP: "scaling up is suspended",
    SuspendDirection.DOWN: "scaling down is suspended",
}


class Suspension(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.suspend`. `until_unix_seconds` is None for no end, `replicas` None for those that the target has."""

    direction: str = ""
    until: str = ""
    until_unix_seconds: float | None = None
    replicas: int | None = None

    def is_active(self, moment: Moment) -> bool:
        """Whether it has not ended yet."""
        return self.until_unix_seconds is None or not moment.reached(self.until_unix_seconds)


class Suspend(Extension[Suspension, None]):
    """Holds back the changes of the suspended direction, also those that bounds would make."""

    name = "suspend"
    conditions = (ConditionType.SUSPENDED,)

    def rules(self, given: Given, policy: Policy) -> Suspension | None:
        """A time that cannot be read has no end: what the user wanted to stop stays stopped."""
        suspend = given.spec.suspend
        if suspend is None:
            return None
        try:
            until = (
                None if suspend.until is None else datetime.fromisoformat(suspend.until).timestamp()
            )
        except ValueError:
            until = None
        return Suspension(
            direction=suspend.direction,
            until=suspend.until or "",
            until_unix_seconds=until,
            replicas=suspend.replicas,
        )

    def due_unix_seconds(self, rules: Suspension, moment: Moment) -> float:
        """When it ends."""
        if rules.until_unix_seconds is None or not rules.is_active(moment):
            return math.inf
        return rules.until_unix_seconds

    def suspends(self, rules: Suspension, turn: Turn) -> bool:
        """Until it ends."""
        return rules.is_active(turn.moment)

    def policy(self, rules: Suspension, policy: Policy) -> Policy:
        """The zero of a suspension also ends while metrics fail."""
        if not (policy.kind.leaves_zero_for_min and policy.min_replicas > 0):
            return policy
        return msgspec.structs.replace(policy, min_ends_zero=True)

    def final(self, rules: Suspension, draft: Draft) -> None:
        """Keep the replicas, or set those of the suspension."""
        if not rules.is_active(draft.turn.moment):
            draft.add(
                Remark(
                    condition=ConditionType.SUSPENDED,
                    active=False,
                    reason="SuspensionEnded",
                    message=f"the suspension ended at {rules.until}",
                )
            )
            return
        current, desired = draft.turn.current_replicas, draft.replicas
        replicas = _allowed(rules, current=current, desired=desired)
        message = _message(rules)
        draft.add(
            Remark(
                condition=ConditionType.SUSPENDED,
                active=True,
                reason="Suspended",
                message=message,
                detail=f"Without that, the replica count would be {desired}."
                if replicas != desired
                else "",
                holds=replicas != desired,
            )
        )
        if replicas != desired:
            draft.replicas, draft.reason = replicas, message if replicas != current else ""
        # Such a zero is left again when the suspension ends.
        draft.zero_is_own = draft.turn.policy.scale_to_zero and rules.replicas == 0


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
    if not suspension.until:
        return words
    if suspension.until_unix_seconds is None:
        # The API server accepts every day up to 31 in every month, and a year 0.
        return (
            f"{words} indefinitely: spec.suspend.until ({suspension.until}) is not a valid date: "
            "set a time such as 2027-01-31T08:00:00Z"
        )
    return f"{words} until {suspension.until}"
