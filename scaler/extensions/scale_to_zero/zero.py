"""When a target goes to zero and leaves it, by the activity of its metrics (`scaleToZero`, `activationValue`).

A metric is active above its activation value, as a scaler of KEDA is (`activationThreshold`). The target goes to
zero once no metric has been active for the cooldown, and leaves zero as soon as one is. Between the two it keeps
at least one replica, whatever the metrics propose.
"""

import msgspec

from scaler.algorithm.derivation import ZeroStep
from scaler.algorithm.memory import NOTHING_REMEMBERED, Memory
from scaler.algorithm.policy import ZeroRules
from scaler.extensions.scale_to_zero.activity_of_metrics import Activity


class Zero(msgspec.Struct, frozen=True, kw_only=True):
    """What is recommended to the next steps, the least that may result from them, and what is remembered."""

    recommended: int
    floor: int
    inactive_since_unix_seconds: float | None
    step: ZeroStep


def zero(
    rules: ZeroRules,
    memory: Memory,
    activity: Activity,
    *,
    current: int,
    recommended: int,
    may_leave_zero: bool,
    now_unix_seconds: float,
) -> Zero:
    """Decide between zero and one or more; how many more is left to the metrics.

    `may_leave_zero` is False where scaling up is disabled.
    """
    is_active = bool(activity.active) or (activity.unknown and current > 0)
    if is_active:
        floor = 0 if current == 0 and not may_leave_zero else 1
        return _result(rules, activity, max(1, recommended), floor, None)
    remembered = memory.extensions or NOTHING_REMEMBERED
    since = remembered.inactive_since_unix_seconds
    since = now_unix_seconds if since is None else since
    cools_down = current > 0 and now_unix_seconds - since < rules.cooldown_seconds
    return _result(rules, activity, 0, int(cools_down), since)


def _result(
    rules: ZeroRules,
    activity: Activity,
    recommended: int,
    floor: int,
    since: float | None,
) -> Zero:
    return Zero(
        recommended=recommended,
        floor=floor,
        inactive_since_unix_seconds=since,
        step=ZeroStep(
            active=activity.active,
            unknown=activity.unknown,
            inactive_since_unix_seconds=since,
            cooldown_seconds=rules.cooldown_seconds,
            floor=floor,
        ),
    )
