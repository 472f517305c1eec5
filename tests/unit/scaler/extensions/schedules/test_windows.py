"""Floors, caps and ramps of several schedules at a moment, and until when they hold."""

import math

from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.schedules.recurrence import FixedStarts
from scaler.extensions.schedules.windows import Schedule, Scheduled, evaluated
from scaler.extensions.schedules.work import Work


def schedule(
    name: str, *instants: int, lasts: int = 100, ramp: int = 0, low=None, high=None
) -> Schedule:
    return Schedule(
        name=name, starts=FixedStarts(tuple(sorted(instants))), duration_seconds=lasts, ramp_seconds=ramp,
        min_replicas=low, max_replicas=high,
    )  # fmt: skip


def at(now: float, *schedules: Schedule) -> Scheduled:
    return evaluated(schedules, now, min_replicas=2, max_replicas=20, work=Work())


def following(earlier: Scheduled, now: float, *schedules: Schedule) -> Scheduled:
    """With what an earlier evaluation has found."""
    return evaluated(
        schedules, now, min_replicas=2, max_replicas=20, work=Work(), known=earlier.found
    )


def names(scheduled: Scheduled) -> list[str]:
    return [each.name for each in scheduled.active]


def test_a_window_includes_its_begin_and_excludes_its_end():
    office = schedule("office", 1000, low=10)
    assert [at(now, office).floor for now in (999, 1000, 1099, 1100)] == [None, 10, 10, None]


def test_the_largest_floor_and_the_smallest_cap_of_the_active_schedules_apply():
    scheduled = at(
        1050, schedule("a", 1000, low=5, high=15), schedule("b", 1040, low=8, high=12), schedule("later", 2000, low=9)
    )  # fmt: skip
    assert (names(scheduled), scheduled.floor, scheduled.cap) == (["a", "b"], 8, 12)


def test_a_floor_takes_precedence_over_a_cap():
    scheduled = at(1050, schedule("sale", 1000, low=15), schedule("night", 1000, high=4))
    assert (scheduled.floor, scheduled.cap) == (15, 15)


def test_a_schedule_without_a_bound_leaves_that_bound_alone():
    assert at(1050, schedule("night", 1000, high=4)).floor is None
    assert at(1050, schedule("sale", 1000, low=15)).cap is None


def test_a_ramp_reaches_the_whole_floor_when_the_window_begins_and_leaves_it_after_the_end():
    office = schedule("office", 1000, ramp=80, low=10)
    floors = {
        now: at(now, office).floor
        for now in (920, 921, 960, 999, 1000, 1099, 1100, 1140, 1179, 1180)
    }
    assert floors == {
        920: None, 921: 3, 960: 6, 999: 10, 1000: 10, 1099: 10, 1100: 10, 1140: 6, 1179: 3, 1180: None,
    }  # fmt: skip


def test_a_cap_is_approached_from_the_maximum():
    night = schedule("night", 1000, ramp=80, high=4)
    assert [at(now, night).cap for now in (920, 960, 1000)] == [None, 12, 4]


def test_between_two_windows_the_nearer_one_counts():
    pair = schedule("pair", 1000, 1140, ramp=80, low=10)
    assert [at(now, pair).floor for now in (1100, 1110, 1120, 1139)] == [10, 9, 8, 10]


def test_the_next_change_of_overlapping_windows_is_the_end_of_the_last_one():
    chain = schedule("chain", 1000, 1090, 1180, 2000, low=3)
    assert at(1010, chain).next_change_unix_seconds == 1280
    assert at(1300, chain).next_change_unix_seconds == 2000
    assert at(2200, chain).next_change_unix_seconds is None


def test_the_next_change_is_the_earliest_of_all_schedules():
    assert at(0, schedule("a", 5000), schedule("b", 1000, ramp=80)).next_change_unix_seconds == 920


class CountedStarts:
    """Starts that count how often they are searched."""

    def __init__(self, *instants: int) -> None:
        self.searches = 0
        self._starts = FixedStarts(instants)

    def latest(self, now, earliest, work):
        return self._starts.latest(now, earliest, work)

    def following(self, after, until, work):
        self.searches += 1
        return self._starts.following(after, until, work)


def test_starts_are_searched_only_when_the_next_one_has_passed():
    starts = CountedStarts(1000, 5000, 9000)
    schedules = [Schedule(name="a", starts=starts, duration_seconds=100, min_replicas=5)]
    found = Scheduled()
    for now in range(1000, 4999, 15):
        found = following(found, now, *schedules)
    assert starts.searches == 1
    following(found, 5000, *schedules)
    assert starts.searches == 2


def test_an_evaluation_is_the_same_while_nothing_changes():
    first = at(1000, schedule("a", 1000, low=5))
    assert first.valid_until_unix_seconds == 1100
    assert following(first, 1099, schedule("a", 1000, low=5)) == first
    assert following(first, 1100, schedule("a", 1000, low=5)).floor is None


def test_a_clock_that_is_put_back_is_followed():
    later = at(2000, schedule("a", 1000, low=5))
    assert later.floor is None
    assert following(later, 1050, schedule("a", 1000, low=5)).floor == 5


bounds = st.one_of(st.none(), st.integers(1, 50))
schedules = st.lists(
    st.builds(
        lambda instants, lasts, ramp, low, high: schedule("s", *instants, lasts=lasts, ramp=ramp, low=low, high=high),
        st.lists(st.integers(0, 3000), max_size=5), st.integers(1, 500), st.integers(0, 200), bounds, bounds,
    ),
    max_size=5,
)  # fmt: skip


@given(schedules=schedules, moments=st.lists(st.integers(0, 4000), min_size=1, max_size=30))
def test_an_evaluation_does_not_depend_on_earlier_ones(schedules, moments):
    kept = Scheduled()
    for now in moments:
        kept = following(kept, now, *schedules)
        fresh = at(now, *schedules)
        assert (kept.active, kept.floor, kept.cap) == (fresh.active, fresh.floor, fresh.cap)
        assert kept.next_change_unix_seconds == fresh.next_change_unix_seconds


@given(schedules=schedules, now=st.integers(0, 4000))
def test_within_a_window_the_whole_bounds_of_its_schedule_apply(schedules, now):
    """Compared with a search over all windows."""
    scheduled = at(now, *schedules)
    within = [
        each for each in schedules
        if any(start <= now < start + each.duration_seconds for start in each.starts.instants)
    ]  # fmt: skip
    floors = [each.min_replicas for each in within if each.min_replicas is not None]
    caps = [each.max_replicas for each in within if each.max_replicas is not None]
    if floors:
        assert scheduled.floor >= max(floors)
    if caps:
        assert scheduled.cap <= max(min(caps), scheduled.floor or 0)
    if scheduled.floor is not None and scheduled.cap is not None:
        assert scheduled.floor <= scheduled.cap
    assert sum(each.share == 1 for each in scheduled.active) >= len(within)


@given(schedules=schedules, now=st.integers(0, 4000), later=st.integers(0, 4000))
def test_the_result_holds_until_it_says(schedules, now, later):
    first = at(now, *schedules)
    assert first.valid_until_unix_seconds >= now
    if now <= later < first.valid_until_unix_seconds:
        assert at(later, *schedules).active == first.active
    assert first.valid_until_unix_seconds < math.inf or not first.active
