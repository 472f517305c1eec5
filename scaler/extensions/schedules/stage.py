"""The bounds that schedules set in place of the spec's, and what is reported about them."""

import math
from datetime import UTC, datetime
from typing import Any

import msgspec

from scaler.algorithm.draft import Turn
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import AutoscalerStatus, ConditionType
from scaler.api.schedules import FoundCalendar, ScheduleSpec, ScheduleStatus
from scaler.extensions.schedules.ramps import Active
from scaler.extensions.schedules.reading import Readable, read_on, readable
from scaler.extensions.schedules.windows import Found, Scheduled, evaluated
from scaler.extensions.schedules.work import Work
from wire.api.meta import time_from_unix
from wire.api.wording import some

SCHEDULES = "schedules"
INVALID_SCHEDULE = "InvalidSchedule"
PENDING_SCHEDULE = "PendingSchedule"
# A condition must not grow with the number of schedules: the API server refuses a long one.
_NAMED_MAX = 10
_PROBLEMS_MAX = 5


class ScheduledBounds(msgspec.Struct, frozen=True, kw_only=True):
    """What the schedules say now."""

    active: str = ""
    sets_min: bool = False
    sets_max: bool = False
    min_replicas: int
    max_replicas: int
    next_change_unix_seconds: float | None = None
    valid_until_unix_seconds: float = math.inf
    unknown: tuple[str, str] | None = None
    """Why nothing may be scaled down, a reason and a message: a schedule that is not known might set a floor."""
    remark: Remark
    searched: "Searched"


class Searched(msgspec.Struct, frozen=True, eq=False):
    """What was read of these schedules and calendars, and the starts that were found. Not stored: a restart reads again.

    Two are never equal: with equal schedules, those of now replace those before, so that they are compared once.
    """

    schedules: tuple[ScheduleSpec, ...]
    calendars: tuple[FoundCalendar, ...]
    read: Readable
    found: tuple[Found | None, ...] = ()


class Schedules(Extension[ScheduledBounds, Searched]):
    """The bounds of the active schedules replace those of the spec. Its input are the calendars that they refer to."""

    name = SCHEDULES
    conditions = (ConditionType.SCHEDULED,)

    def rules(self, given: Given, policy: Policy) -> ScheduledBounds | None:
        """A floor, or `spec.minReplicas` without one, takes precedence over the caps of schedules; `spec.maxReplicas` takes
        precedence over a floor while no schedule sets a cap.
        """
        schedules, calendars = given.spec.schedules, given.inputs.get(self.name, ())
        if not schedules:
            return None
        known: Searched | None = given.states.get(self.name)
        work = Work()
        if known is None or (known.schedules, known.calendars) != (schedules, calendars):
            known = Searched(schedules, calendars, readable(schedules, calendars, work))
        read = read_on(known.read, work)
        scheduled = evaluated(
            read.schedules,
            given.moment.now_unix_seconds,
            min_replicas=policy.min_replicas,
            max_replicas=policy.max_replicas,
            work=work,
            known=known.found,
        )
        given.moment.holds_until(scheduled.valid_until_unix_seconds)
        low = policy.min_replicas if scheduled.floor is None else scheduled.floor
        high = policy.max_replicas
        if scheduled.cap is not None:
            high = max(scheduled.cap, low)
        low = min(low, high)
        unknown = _unknown(read, is_complete=read.is_complete and scheduled.is_complete)
        return ScheduledBounds(
            active=_names(scheduled.active),
            sets_min=scheduled.floor is not None,
            sets_max=scheduled.cap is not None,
            min_replicas=low,
            max_replicas=high,
            next_change_unix_seconds=scheduled.next_change_unix_seconds,
            valid_until_unix_seconds=scheduled.valid_until_unix_seconds,
            unknown=unknown,
            remark=_remark(scheduled, unknown, low, high),
            # With the objects of now: two that are equal are compared at once if they are the same.
            searched=Searched(schedules, calendars, read, scheduled.found),
        )

    def due_unix_seconds(self, rules: ScheduledBounds, moment: Moment) -> float:
        """When a bound begins, ends, or changes on a ramp."""
        return rules.valid_until_unix_seconds

    def policy(self, rules: ScheduledBounds, policy: Policy) -> Policy:
        """Also the reasons of a rescale to a bound. A floor applies whether metrics can be read or not."""
        low, high = rules.min_replicas, rules.max_replicas
        below = f"Current number of replicas below minReplicas {low} of a schedule"
        above = f"Current number of replicas above maxReplicas {high} of a schedule"
        return msgspec.structs.replace(
            policy,
            min_replicas=low,
            max_replicas=high,
            min_ends_zero=rules.sets_min or policy.min_ends_zero,
            below_min_reason=below if rules.sets_min else policy.below_min_reason,
            above_max_reason=above if rules.sets_max else policy.above_max_reason,
        )

    def holds(self, rules: ScheduledBounds) -> tuple[str, str] | None:
        """While a schedule cannot be read, or has not been evaluated yet."""
        return rules.unknown

    def begin(
        self,
        rules: ScheduledBounds,
        state: Searched | None,
        turn: Turn,
        known_replicas: tuple[int, ...] | None,
    ) -> Searched:
        """What was found for the bounds of this reconcile."""
        return rules.searched

    def disabled(self, state: Searched) -> Searched:
        """What was read of schedules does not depend on the target."""
        return state

    def shifted(self, state: Searched, seconds: float) -> Searched:
        """The starts of a schedule are times of the calendar, so they stay."""
        return state

    def remark(self, rules: ScheduledBounds, state: Searched | None, turn: Turn) -> Remark | None:
        """The condition `Scheduled`."""
        return rules.remark

    def status(
        self, rules: ScheduledBounds, step: Any, policy: Policy, status: AutoscalerStatus
    ) -> AutoscalerStatus:
        """`status.schedule`."""
        following = rules.next_change_unix_seconds
        return msgspec.structs.replace(
            status,
            schedule=ScheduleStatus(
                active=rules.active,
                min_replicas=policy.min_replicas,
                max_replicas=policy.max_replicas,
                next_change_time=None if following is None else time_from_unix(following),
            ),
        )


def _named(active: Active) -> str:
    return active.name if active.share >= 1 else f"{active.name} (ramp)"


def _unknown(read: Readable, *, is_complete: bool) -> tuple[str, str] | None:
    """A reason and a message, if what a schedule says is not known."""
    if read.problems:
        mistakes = "; ".join(read.problems[:_PROBLEMS_MAX])
        if len(read.problems) > _PROBLEMS_MAX:
            mistakes += f"; and {len(read.problems) - _PROBLEMS_MAX} more"
        return INVALID_SCHEDULE, f"{mistakes}; nothing is scaled down until that is fixed"
    if not is_complete:
        # The same until it ends, so that the status is not written in each reconcile.
        return PENDING_SCHEDULE, (
            f"the {read.event_count} schedules and entries of calendars have too many starts for one reconcile, so the next"
            " reconciles continue; nothing is scaled down until all are evaluated"
        )
    return None


def _remark(scheduled: Scheduled, unknown: tuple[str, str] | None, low: int, high: int) -> Remark:
    """The condition `Scheduled`."""
    following = scheduled.next_change_unix_seconds
    # The next change may be unknown: a date in more than five years, or windows that never end.
    then = "" if following is None else f"; the next change is at {_time(following)}"
    if scheduled.active:
        names = _names(scheduled.active)
        message = f"{_counted(len(scheduled.active))} active ({names}): minReplicas is {low}, maxReplicas is {high}{then}"
        reason = "ScheduleActive"
    else:
        message, reason = f"no schedule is active{then}", "NoActiveSchedule"
    if unknown:
        reason, message = unknown[0], f"{unknown[1]}; {message}"
    return Remark(
        condition=ConditionType.SCHEDULED,
        active=bool(scheduled.active),
        reason=reason,
        message=message,
    )


def _names(active: tuple[Active, ...]) -> str:
    return some([_named(each) for each in active], _NAMED_MAX)


def _counted(count: int) -> str:
    return "1 schedule is" if count == 1 else f"{count} schedules are"


def _time(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
