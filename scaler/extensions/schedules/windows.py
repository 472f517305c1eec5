"""Which bounds schedules set at a moment, and until when that holds.

A schedule is active during windows: each begins at a start and lasts `duration_seconds`, in elapsed time. Windows that
overlap are one. With `ramp_seconds`, its bounds are approached in a straight line before the first window begins,
and left in a straight line after the last one ends, so that the whole bound applies within the windows.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

# Windows that overlap in a longer chain than this have no next change in the status.
_CHAIN_MAX = 50
# A schedule that cannot be evaluated is tried again after this.
_RETRY_SECONDS = 3600.0


class Starts(Protocol):
    """When windows begin, in Unix seconds."""

    def previous_and_next(
        self, now_unix_seconds: float, lookback_seconds: float
    ) -> tuple[int | None, int | None]:
        """The last start at or before `now`, if it is at most `lookback` ago, and the first one after it."""
        ...


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A named schedule; a bound that is None is left as it is."""

    name: str
    starts: Starts
    duration_seconds: int
    ramp_seconds: int = 0
    min_replicas: int | None = None
    max_replicas: int | None = None


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule that sets bounds now; on its ramp `share` is less than 1, and the bounds are not yet its own."""

    name: str
    share: float
    min_replicas: int | None
    max_replicas: int | None


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """What all schedules together say now.

    `floor` is the largest minReplicas of the active ones, `cap` the smallest maxReplicas, and at least the floor. They are
    None where no active schedule sets one. `next_change` is when a schedule begins or ends to apply, ramps included.
    """

    active: tuple[Active, ...] = ()
    floor: int | None = None
    cap: int | None = None
    next_change_unix_seconds: float | None = None
    valid_until_unix_seconds: float = math.inf
    problems: tuple[str, ...] = ()
    """The schedules that cannot be evaluated, and why."""


class Evaluator:
    """Evaluates the schedules of one autoscaler. It repeats the search for starts only after the next one."""

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = tuple(_Remembered(each) for each in schedules)
        self._last = Scheduled()
        self._last_since = math.inf
        self._last_bounds: tuple[int, int] = (0, 0)

    def at(self, now_unix_seconds: float, *, min_replicas: int, max_replicas: int) -> Scheduled:
        """The bounds now. `min_replicas` and `max_replicas` are those without schedules, where ramps begin."""
        bounds = (min_replicas, max_replicas)
        is_valid = self._last_since <= now_unix_seconds < self._last.valid_until_unix_seconds
        if not is_valid or bounds != self._last_bounds:
            self._last = self._evaluated(now_unix_seconds, *bounds)
            self._last_since, self._last_bounds = now_unix_seconds, bounds
        return self._last

    def _evaluated(self, now: float, min_replicas: int, max_replicas: int) -> Scheduled:
        active: list[Active] = []
        changes: list[float] = []
        valid_until = math.inf
        problems: list[str] = []
        for each in self._schedules:
            try:
                phase = each.phase(now)
            except ValueError as error:
                problems.append(f"schedule {each.schedule.name}: {error}")
                valid_until = min(valid_until, now + _RETRY_SECONDS)
                continue
            if phase.share > 0:
                active.append(_active(each.schedule, phase.share, min_replicas, max_replicas))
            if phase.next_change is not None:
                changes.append(phase.next_change)
            valid_until = min(valid_until, phase.valid_until)
        floor = max(
            (each.min_replicas for each in active if each.min_replicas is not None), default=None
        )
        cap = min(
            (each.max_replicas for each in active if each.max_replicas is not None), default=None
        )
        return Scheduled(
            active=tuple(active),
            floor=floor,
            # The floor takes precedence: too few replicas are an outage, too many are a cost.
            cap=max(cap, floor) if cap is not None and floor is not None else cap,
            next_change_unix_seconds=min(changes, default=None),
            valid_until_unix_seconds=valid_until,
            problems=tuple(problems),
        )


def _active(schedule: Schedule, share: float, min_replicas: int, max_replicas: int) -> Active:
    return Active(
        name=schedule.name,
        share=share,
        min_replicas=_between(min_replicas, schedule.min_replicas, share),
        max_replicas=_between(max_replicas, schedule.max_replicas, share),
    )


def _between(base: int, full: int | None, share: float) -> int | None:
    """Rounded up, so that a ramp never allows fewer replicas than its straight line."""
    if full is None or share >= 1:
        return full
    return base + math.ceil((full - base) * share)


class _Phase(msgspec.Struct, frozen=True):
    """How much of the bounds applies, and until when."""

    share: float
    next_change: float | None
    valid_until: float


class _Remembered:
    """A schedule, and the starts around the last evaluation."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._lookback_seconds = schedule.duration_seconds + schedule.ramp_seconds
        self._since = math.inf
        self._until = -math.inf
        self._around: tuple[int | None, int | None] = (None, None)
        self._end: float | None = None

    def phase(self, now: float) -> _Phase:
        """Where `now` is: outside, on a ramp, or within a window."""
        if not self._since <= now < self._until:
            self._search(now)
        previous, following = self._around
        ramp = self.schedule.ramp_seconds
        ends = None if previous is None else previous + self.schedule.duration_seconds
        if ends is not None and now < ends:
            valid_until = ends if following is None else min(ends, following)
            return _Phase(1.0, self._end, valid_until)
        rising = 0.0 if following is None or not ramp else 1 - (following - now) / ramp
        falling = 0.0 if ends is None or not ramp else 1 - (now - ends) / ramp
        share = max(rising, falling, 0.0)
        if share == 0:
            begins = None if following is None else float(following - ramp)
            return _Phase(0.0, begins, self._until if begins is None else begins)
        # On a ramp the bounds change all the time.
        next_change = float(following) if following is not None and rising > 0 else None
        if next_change is None and ends is not None:
            next_change = float(ends + ramp)
        return _Phase(share, next_change, now)

    def _search(self, now: float) -> None:
        starts = self.schedule.starts
        previous, following = starts.previous_and_next(now, self._lookback_seconds)
        self._around = previous, following
        self._since = now
        # Without a next start, search again after a day: the search ends some years ahead.
        self._until = now + 86_400 if following is None else following
        self._end = self._end_of_chain(previous, following)

    def _end_of_chain(self, previous: int | None, following: int | None) -> float | None:
        """When the windows that overlap with the one of `previous` end."""
        if previous is None:
            return None
        end = previous + self.schedule.duration_seconds
        for _ in range(_CHAIN_MAX):
            if following is None or following > end:
                return float(end)
            end = following + self.schedule.duration_seconds
            _, following = self.schedule.starts.previous_and_next(following, 0)
        return None
