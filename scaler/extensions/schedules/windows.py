"""Which bounds schedules set at a moment, and until when that holds.

A schedule is active during windows: each begins at a start and lasts `duration_seconds`, in elapsed time. Windows that
overlap are one. With `ramp_seconds`, its bounds are approached in a straight line before the first window begins,
and left in a straight line after the last one ends, so that the whole bound applies within the windows.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest
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
    searches: "tuple[Search | None, ...]" = ()
    """For the next evaluation of the same schedules."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The starts around a moment: the same from `since` until `until`. `end`: of the window, with those that overlap."""

    since: float
    until: float
    previous: int | None
    following: int | None
    end: float | None


def evaluated(
    schedules: Sequence[Schedule],
    now_unix_seconds: float,
    *,
    min_replicas: int,
    max_replicas: int,
    searches: Sequence[Search | None] = (),
) -> Scheduled:
    """The bounds now. `min_replicas` and `max_replicas` are those without schedules, where ramps begin.

    `searches`: those of an earlier evaluation. Starts are searched again only after the next one has passed: for a recurrence
    rule that takes milliseconds.
    """
    now, active, changes, problems = now_unix_seconds, list[Active](), list[float](), list[str]()
    valid_until, found = math.inf, list[Search | None]()
    for each, known in zip_longest(schedules, searches[: len(schedules)]):
        try:
            search = known
            if search is None or not search.since <= now < search.until:
                search = _search(each, now)
            phase = _phase(each, search, now)
        except ValueError as error:
            found.append(None)
            problems.append(f"schedule {each.name}: {error}")
            valid_until = min(valid_until, now + _RETRY_SECONDS)
            continue
        found.append(search)
        if phase.share > 0:
            active.append(_active(each, phase.share, min_replicas, max_replicas))
        if phase.next_change is not None:
            changes.append(phase.next_change)
        valid_until = min(valid_until, phase.valid_until)
    floor = max(
        (each.min_replicas for each in active if each.min_replicas is not None), default=None
    )
    cap = min((each.max_replicas for each in active if each.max_replicas is not None), default=None)
    return Scheduled(
        active=tuple(active),
        floor=floor,
        # The floor takes precedence: too few replicas are an outage, too many are a cost.
        cap=max(cap, floor) if cap is not None and floor is not None else cap,
        next_change_unix_seconds=min(changes, default=None),
        valid_until_unix_seconds=valid_until,
        problems=tuple(problems),
        searches=tuple(found),
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


def _phase(schedule: Schedule, search: Search, now: float) -> _Phase:
    """Where `now` is: outside, on a ramp, or within a window."""
    previous, following, ramp = search.previous, search.following, schedule.ramp_seconds
    ends = None if previous is None else previous + schedule.duration_seconds
    if ends is not None and now < ends:
        valid_until = ends if following is None else min(ends, following)
        return _Phase(1.0, search.end, valid_until)
    rising = 0.0 if following is None or not ramp else 1 - (following - now) / ramp
    falling = 0.0 if ends is None or not ramp else 1 - (now - ends) / ramp
    share = max(rising, falling, 0.0)
    if share == 0:
        begins = None if following is None else float(following - ramp)
        return _Phase(0.0, begins, search.until if begins is None else begins)
    # On a ramp the bounds change all the time.
    next_change = float(following) if following is not None and rising > 0 else None
    if next_change is None and ends is not None:
        next_change = float(ends + ramp)
    return _Phase(share, next_change, now)


def _search(schedule: Schedule, now: float) -> Search:
    lookback_seconds = schedule.duration_seconds + schedule.ramp_seconds
    previous, following = schedule.starts.previous_and_next(now, lookback_seconds)
    return Search(
        since=now,
        # Without a next start, search again after a day: the search ends some years ahead.
        until=now + 86_400 if following is None else following,
        previous=previous,
        following=following,
        end=_end_of_chain(schedule, previous, following),
    )


def _end_of_chain(schedule: Schedule, previous: int | None, following: int | None) -> float | None:
    """When the windows that overlap with the one of `previous` end."""
    if previous is None:
        return None
    end = previous + schedule.duration_seconds
    for _ in range(_CHAIN_MAX):
        if following is None or following > end:
            return float(end)
        end = following + schedule.duration_seconds
        _, following = schedule.starts.previous_and_next(following, 0)
    return None
