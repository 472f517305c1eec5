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
from scaler.extensions.schedules.ramps import Active, cap_of, floor_of
from scaler.extensions.schedules.work import Work

YEARS_AHEAD = 5
"""A start that is further away is none for now."""

_AHEAD_SECONDS = YEARS_AHEAD * 366 * DAY_SECONDS
# Windows that overlap in a longer chain than this, or for longer, have no next change in the status.
_CHAIN_MAX = 50
_CHAIN_SECONDS = 366 * DAY_SECONDS
_STEP_UNITS = 1
# So many windows that overlap take as long as a unit.
_OVERLAPPING_A_UNIT = 12


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


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """What all schedules together say now.

    `floor` is the minReplicas of the active ones, `cap` their maxReplicas, and at least the floor. They are None where no
    active schedule sets one. `next_change` is when a schedule begins or ends to apply, ramps included.
    """

    active: tuple[Active, ...] = ()
    floor: int | None = None
    cap: int | None = None
    next_change_unix_seconds: float | None = None
    valid_until_unix_seconds: float = math.inf
    is_complete: bool = True
    """Whether the work sufficed for all schedules. Otherwise what some of them say is not known yet."""
    found: "tuple[Found | None, ...]" = ()
    """Of each schedule, for the next evaluation of the same ones."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The starts around a moment: the same from `since` until `until`. `end`: of the window, with those that overlap.

    Without a following start there is none until `searched_to`. From the following start on, the windows that are known
    overlap until `following_end`.
    """

    since: float
    until: float
    previous: int | None
    following: int | None
    end: float | None
    following_end: float
    searched_to: float


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a schedule says: the same from `since` until `until`."""

    search: Search
    active: Active | None
    next_change: float | None
    since: float
    until: float


def evaluated(
    schedules: Sequence[Schedule],
    now_unix_seconds: float,
    *,
    min_replicas: int,
    max_replicas: int,
    work: Work,
    known: Sequence[Found | None] = (),
) -> Scheduled:
    """The bounds now. `min_replicas` and `max_replicas` are those without schedules, where ramps begin.

    `known`: what an earlier evaluation has found. Starts are searched again only after the next one has passed, and a search
    for a distant one is continued where it has ended.
    """
    now = now_unix_seconds
    # First what sets the bounds of all schedules; distant starts only where work is left.
    found = [
        each
        if each is not None and each.since <= now < each.until
        else _current(schedule, each, now, work)
        for schedule, each in zip_longest(schedules, known[: len(schedules)])
    ]
    _continue_distant(schedules, found, now, work)
    complete = [each for each in found if each is not None]
    active = tuple([each.active for each in complete if each.active is not None])
    floor, cap = floor_of(active, min_replicas), cap_of(active, max_replicas)
    return Scheduled(
        active=active,
        floor=floor,
        # The floor takes precedence: too few replicas are an outage, too many are a cost.
        cap=max(cap, floor) if cap is not None and floor is not None else cap,
        next_change_unix_seconds=min(
            [each.next_change for each in complete if each.next_change is not None], default=None
        ),
        # The next evaluation goes on.
        valid_until_unix_seconds=now
        if work.is_used_up
        else min([each.until for each in complete], default=math.inf),
        is_complete=len(complete) == len(found),
        found=tuple(found),
    )


def _continue_distant(
    schedules: Sequence[Schedule],
    found: list[Found | None],
    now: float,
    work: Work,
) -> None:
    """Search on for the next start of those that have none yet, as far as the work suffices."""
    ahead = now + _AHEAD_SECONDS
    for place, each in enumerate(found):
        if work.is_used_up:
            return
        if each is None or each.search.following is not None or each.search.searched_to >= ahead:
            continue
        search = _continued(schedules[place], each.search, ahead, work)
        found[place] = _found(schedules[place], search, now)


def _active(schedule: Schedule, share: float) -> Active:
    return Active(
        name=schedule.name,
        share=share,
        min_replicas=schedule.min_replicas,
        max_replicas=schedule.max_replicas,
    )


def _found(schedule: Schedule, search: Search, now: float) -> Found:
    """What the starts around now mean: it is outside of windows, on a ramp, or within a window."""
    previous, following = search.previous, search.following
    ramp = schedule.ramp_seconds
    ends = None if previous is None else previous + schedule.duration_seconds
    rising = 0.0 if following is None or not ramp else 1 - (following - now) / ramp
    falling = 0.0 if ends is None or not ramp else 1 - (now - ends) / ramp
    next_change: float | None
    until: float
    if ends is not None and now < ends:
        share, next_change = 1.0, search.end
        until = ends if following is None else min(ends, following)
    elif (share := max(rising, falling, 0.0)) > 0:
        # On a ramp the bounds change all the time.
        next_change, until = (
            (following if rising > 0 else ends + ramp if ends is not None else None),
            now,
        )
    else:
        next_change = None if following is None else float(following - ramp)
        until = search.until if next_change is None else next_change
    active = _active(schedule, share) if share > 0 else None
    return Found(search=search, active=active, next_change=next_change, since=now, until=until)


def _current(schedule: Schedule, known: Found | None, now: float, work: Work) -> Found | None:
    """By the known search while it holds, or by a new one; None if the work does not suffice and nothing is known."""
    search = None if known is None else known.search
    if search is None or not search.since <= now < search.until:
        if work.is_used_up:
            return None if known is None else _still_active(schedule, known, now)
        search = _next_search(schedule, search, now, work) or _search(schedule, now, work)
    return _found(schedule, search, now)


def _still_active(schedule: Schedule, known: Found, now: float) -> Found | None:
    """Without a new search: within windows that are known, the whole bounds apply."""
    search = known.search
    if search.following is None or not search.following <= now < search.following_end:
        return None
    is_within = known.active is not None and known.active.share >= 1
    if is_within and (known.next_change is None or now < known.next_change):
        return known
    active = _active(schedule, 1.0)
    return Found(search=search, active=active, next_change=None, since=now, until=now)


def _search(schedule: Schedule, now: float, work: Work) -> Search:
    """What is needed for the bounds now."""
    earliest = now - schedule.duration_seconds - schedule.ramp_seconds
    return _around(schedule, schedule.starts.latest(now, earliest, work), now, work)


def _next_search(schedule: Schedule, known: Search | None, now: float, work: Work) -> Search | None:
    """With the next start of the known search as the previous one, if it is."""
    if known is None or known.following is None or known.following > now:
        return None
    search = _around(schedule, known.following, now, work)
    return search if search.following is None or search.following > now else None


def _around(schedule: Schedule, previous: int | None, now: float, work: Work) -> Search:
    """With the start that follows the previous one, which is searched for until the end of the next year at first."""
    work.spend(_STEP_UNITS)
    limit = now + _CHAIN_SECONDS
    searched_to = max(_end_of_next_year(now), limit)
    after = now if previous is None else previous
    starts = schedule.starts.following(after, searched_to, work)
    following, duration = next(starts, None), schedule.duration_seconds
    end: float | None = None
    following_end = 0 if following is None else following + duration
    if previous is not None and now < previous + duration:
        known_end, is_end = _end_of_chain(
            previous + duration, following, starts, duration, limit, work
        )
        end = float(known_end) if is_end else None
        following_end = max(following_end, known_end)
    return Search(
        since=now,
        until=searched_to - schedule.ramp_seconds if following is None else following,
        previous=previous,
        following=following,
        end=end,
        following_end=following_end,
        searched_to=searched_to,
    )


def _continued(schedule: Schedule, search: Search, ahead: float, work: Work) -> Search:
    """A search that goes on for the next start, two years at a time."""
    following, searched_to = search.following, search.searched_to
    while following is None and searched_to < ahead and not work.is_used_up:
        work.spend(_STEP_UNITS)
        after, searched_to = searched_to, _end_of_next_year(searched_to)
        following = next(schedule.starts.following(after, searched_to, work), None)
    return msgspec.structs.replace(
        search,
        until=searched_to - schedule.ramp_seconds if following is None else following,
        following=following,
        following_end=0 if following is None else following + schedule.duration_seconds,
        searched_to=searched_to,
    )


def _end_of_next_year(now: float) -> float:
    year = datetime.fromtimestamp(now, UTC).year
    return datetime(year + 2, 1, 1, tzinfo=UTC).timestamp()


def _end_of_chain(
    end: int,
    following: int | None,
    starts: Iterator[int],
    duration: int,
    limit: float,
    work: Work,
) -> tuple[int, bool]:
    """When the windows that overlap with one end, as far as they are known, and whether that is all of them."""
    start, overlapping = following, 0
    while overlapping < _CHAIN_MAX - 1 and start is not None and start <= min(end, limit):
        end, start = start + duration, next(starts, None)
        overlapping += 1
    work.spend(overlapping // _OVERLAPPING_A_UNIT)
    is_overlapping = start is not None and start <= min(end, limit)
    return end, not is_overlapping and end < limit
