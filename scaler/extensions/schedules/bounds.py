"""The bounds that schedules set in place of the spec's, and what is reported about them."""

from datetime import UTC, datetime

import msgspec

from scaler.algorithm.policy import Policy, ScheduledBounds
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.api.schedules import FoundCalendar, ScheduleSpec
from scaler.extensions.schedules.reading import readable
from scaler.extensions.schedules.windows import Active, Scheduled

_NOT_SCALED_DOWN = "nothing is scaled down until that is fixed"


def with_schedules(
    policy: Policy,
    schedules: tuple[ScheduleSpec, ...],
    calendars: tuple[FoundCalendar, ...],
    now: float,
) -> Policy:
    """The policy with the bounds of the active schedules. `now` in Unix seconds.

    A floor takes precedence over the caps of schedules, and `spec.maxReplicas` over a floor while no schedule sets a cap.
    """
    read = readable(schedules, calendars)
    scheduled = read.evaluator.at(
        now, min_replicas=policy.min_replicas, max_replicas=policy.max_replicas
    )
    low = policy.min_replicas if scheduled.floor is None else scheduled.floor
    high = policy.max_replicas
    if scheduled.cap is not None:
        high = max(scheduled.cap, low)
    low = min(low, high)
    problem = "; ".join((*read.problems, *scheduled.problems))
    return msgspec.structs.replace(
        policy,
        min_replicas=low,
        max_replicas=high,
        schedule=ScheduledBounds(
            active=", ".join(_named(each) for each in scheduled.active),
            sets_min=scheduled.floor is not None,
            sets_max=scheduled.cap is not None,
            next_change_unix_seconds=scheduled.next_change_unix_seconds,
            valid_until_unix_seconds=scheduled.valid_until_unix_seconds,
            problem=f"{problem}; {_NOT_SCALED_DOWN}" if problem else "",
            remark=_remark(scheduled, problem, low, high),
        ),
    )


def _named(active: Active) -> str:
    return active.name if active.share >= 1 else f"{active.name} (ramp)"


def _remark(scheduled: Scheduled, problem: str, low: int, high: int) -> Remark:
    """The condition `Scheduled`."""
    following = scheduled.next_change_unix_seconds
    # The next change may be unknown: a date in more than five years, or windows that never end.
    then = "" if following is None else f"; the next change is at {_time(following)}"
    if scheduled.active:
        names = ", ".join(_named(each) for each in scheduled.active)
        message = f"{_counted(len(scheduled.active))} active ({names}): minReplicas is {low}, maxReplicas is {high}{then}"
        reason = "ScheduleActive"
    else:
        message, reason = f"no schedule is active{then}", "NoActiveSchedule"
    if problem:
        message, reason = f"{problem}; {_NOT_SCALED_DOWN}; {message}", "InvalidSchedule"
    return Remark(
        condition=ConditionType.SCHEDULED,
        active=bool(scheduled.active),
        reason=reason,
        message=message,
    )


def _counted(count: int) -> str:
    return "1 schedule is" if count == 1 else f"{count} schedules are"


def _time(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
