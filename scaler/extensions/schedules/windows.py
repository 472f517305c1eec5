"""Which bounds schedules set at a moment, and until when that holds.

A schedule is active during windows: each begins at a start and lasts `duration_seconds`, in elapsed time. Windows that
overlap are one. With `ramp_seconds`, its bounds are approached in a straight line before the first window begins,
and left in a straight line after the last one ends, so that the whole bound applies within the windows.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Protocol

import msgspec

from scaler.extensions.schedules.local_time import DAY_SECONDS
from scaler.extensions.schedules.work import Work

YEARS_AHEAD = 5
"""A start that is further away is none for now."""

_AHEAD_SECONDS = YEARS_AHEAD * 366 * DAY_SECONDS
# Windows that overlap in a longer chain than this, or for longer, have no next change in the status.
_CHAIN_MAX = 50
_CHAIN_SECONDS = 366 * DAY_SECONDS
_STEP_UNITS = 1


class Starts(Protocol):
    """When windows begin, in Unix seconds."""

    def latest(self, now: float, earliest: float, work: Work) -> int | None:
        """The last start at or before `now`, and not before `earliest`."""
        ...

    def following(self, after: float, until: float, work: Work) -> Iterator[int]:
        """The starts after `after`, ascending: all of them until `until`, and later ones only where they are known."""
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
    is_complete: bool = True
    """Whether the work sufficed for all schedules. Otherwise what some of them say is not known yet."""
    searches: "tuple[Search | None, ...]" = ()
    """For the next evaluation of the same schedules."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The starts around a moment: the same from `since` until `until`. `end`: of the window, with those that overlap.

    Without a following start there is none until `searched_to`.
    """

    since: float
    until: float
    previous: int | None
    following: int | None
    end: float | None
    searched_to: float


def evaluated(
    schedules: Sequence[Schedule],
    now_unix_seconds: float,
    *,
    min_replicas: int,
    max_replicas: int,
    work: Work,
    searches: Sequence[Search | None] = (),
) -> Scheduled:
    """The bounds now. `min_replicas` and `max_replicas` are those without schedules, where ramps begin.

    `searches`: those of an earlier evaluation. Starts are searched again only after the next one has passed, and a search for
    a distant one is continued where it has ended.
    """
    now, active, changes = now_unix_seconds, list[Active](), list[float]()
    valid_until = math.inf
    # First what sets the bounds of all schedules; distant starts only where work is left.
    found = [
        _current(each, known, now, work)
        for each, known in zip_longest(schedules, searches[: len(schedules)])
    ]
    for place, (each, search) in enumerate(zip(schedules, found, strict=True)):
        if search is None:
            continue
        if search.following is None and search.searched_to < now + _AHEAD_SECONDS:
            search = found[place] = _continued(each, search, now, work)
        phase = _phase(each, search, now)
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
        # The next evaluation goes on.
        valid_until_unix_seconds=now if work.is_used_up else valid_until,
        is_complete=None not in found,
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


def _current(schedule: Schedule, known: Search | None, now: float, work: Work) -> Search | None:
    """The known search while it holds, or a new one; None if the work does not suffice."""
    if known is not None and known.since <= now < known.until:
        return known
    return None if work.is_used_up else _search(schedule, now, work)


def _search(schedule: Schedule, now: float, work: Work) -> Search:
    """What is needed for the bounds now. The next start is searched for until the end of the next year at first."""
    starts, ramp = schedule.starts, schedule.ramp_seconds
    previous = starts.latest(now, now - schedule.duration_seconds - ramp, work)
    search = Search(
        since=now,
        until=now,
        previous=previous,
        following=None,
        end=None if previous is None else _end_of_chain(schedule, previous, now, work),
        searched_to=now,
    )
    while search.following is None and search.until <= now:
        search = _searched_on(schedule, search, work)
    return search


def _continued(schedule: Schedule, search: Search, now: float, work: Work) -> Search:
    """A search that goes on for the next start, two years at a time."""
    while (
        search.following is None
        and search.searched_to < now + _AHEAD_SECONDS
        and not work.is_used_up
    ):
        search = _searched_on(schedule, search, work)
    return search


def _searched_on(schedule: Schedule, search: Search, work: Work) -> Search:
    """For the next start, until the end of the next year."""
    work.spend(_STEP_UNITS)
    after = search.searched_to
    year = datetime.fromtimestamp(after, UTC).year
    until = datetime(year + 2, 1, 1, tzinfo=UTC).timestamp()
    following = next(schedule.starts.following(after, until, work), None)
    ramp_begins = until - schedule.ramp_seconds
    return msgspec.structs.replace(
        search,
        following=following,
        searched_to=until,
        until=ramp_begins if following is None else following,
    )


def _end_of_chain(schedule: Schedule, previous: int, now: float, work: Work) -> float | None:
    """When the windows that overlap with the one of `previous` end."""
    end, limit = previous + schedule.duration_seconds, now + _CHAIN_SECONDS
    if end <= now:
        return None
    starts = schedule.starts.following(previous, limit, work)
    for overlapping, start in enumerate(starts, start=1):
        if start > end:
            return float(end)
        if overlapping == _CHAIN_MAX:
            return None
        end = start + schedule.duration_seconds
    return float(end) if end < limit else None
