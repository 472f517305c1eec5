"""A daily load into which something else is spliced: how soon the forecast lets go, and when it acts again."""

from functools import cache

import pytest

from scaler.extensions.forecast.state import RELIABLE
from tests.unit.scaler.extensions.forecast.loads import BUDGET, DAY, daily, learned, noise, states

HOUR = 60
AT = 5 * DAY + DAY // 3
"""In the morning of the sixth day."""


def spliced(other, *, minutes=DAY):
    """`other` in place of the daily load for so many minutes."""
    return lambda minute: other(minute) if AT <= minute < AT + minutes else daily(minute)


@cache
def five_days():
    """What the forecast knows of the daily load when something else begins. It acts."""
    state = learned(daily, range(AT))
    assert state.verdict.reason == RELIABLE
    return state


def since_then(shape, until):
    """The states from then on."""
    return states(shape, range(AT, until), after=five_days())


def course(found):
    """When the forecast began and ceased to act: (minute, reason)."""
    changes, before = [], RELIABLE
    for minute, state in enumerate(found, AT):
        if state.verdict.reason != before:
            before = state.verdict.reason
            changes.append((minute, before))
    return changes


def test_what_is_known_of_five_days_does_not_change_when_it_is_continued():
    """The tests of this module continue one state."""
    ends = [list(since_then(spliced(lambda _: 0.0), AT + HOUR))[-1] for _ in range(2)]
    assert ends[0] == ends[1] == learned(spliced(lambda _: 0.0), range(AT + HOUR))


SUDDEN = {
    "a third of the load": lambda minute: daily(minute) / 3,
    "three times the load": lambda minute: daily(minute) * 3,
    "half of the load": lambda minute: daily(minute) / 2,
    "twice the load": lambda minute: daily(minute) * 2,
    "another metric": lambda minute: 0.02 * daily(minute + DAY // 2),
}


@pytest.mark.parametrize("other", [pytest.param(each, id=name) for name, each in SUDDEN.items()])
def test_another_load_suspends_the_forecast_within_an_hour_and_its_end_rearms_it_within_two_days(
    other,
):
    changes = course(since_then(spliced(other), AT + 3 * DAY + HOUR))
    suspended = [minute for minute, reason in changes if reason != RELIABLE]
    assert suspended
    assert suspended[0] <= AT + 45
    last, reason = changes[-1]
    assert reason == RELIABLE
    assert last <= AT + DAY + 2 * DAY


def noisy(minute):
    return daily(minute) * (1.0 + 0.4 * noise(minute))


@cache
def five_noisy_days():
    state = learned(noisy, range(AT))
    assert state.verdict.reason == RELIABLE
    return state


@pytest.mark.parametrize("factor", [1 / 3, 0.5, 2.0, 3.0])
def test_another_level_of_a_load_with_much_noise_suspends_the_forecast_within_an_hour(factor):
    """Single minutes of such a load are often as on another day."""

    def shape(minute):
        return factor * noisy(minute)

    changes = course(states(shape, range(AT, AT + HOUR), after=five_noisy_days()))
    minute, reason = changes[-1]
    assert AT < minute <= AT + HOUR
    assert reason != RELIABLE


NOISE = {
    "that changes each minute": lambda minute: 300 + 250 * noise(minute),
    "that changes each hour": lambda minute: 300 + 250 * noise(minute // HOUR),
}


@pytest.mark.parametrize("other", [pytest.param(each, id=name) for name, each in NOISE.items()])
def test_a_day_of_white_noise_wastes_little_and_does_not_end_the_forecast(other):
    """Whether it suspends the forecast or not: the price rises, so that half of the budget is not reached."""
    found = list(since_then(spliced(other), AT + 3 * DAY))
    assert max(each.outcomes.day.wasted_percent for each in found) <= 0.5 * BUDGET
    assert found[-1].verdict.reason == RELIABLE


@pytest.mark.parametrize(
    ("minutes_after", "expected"),
    [
        pytest.param(30, "MissingSamples", id="half an hour after it"),
        pytest.param(HOUR + 20, RELIABLE, id="an hour after it"),
    ],
)
def test_a_lost_day_suspends_the_forecast_until_an_hour_of_load_is_known(minutes_after, expected):
    seen = range(AT + DAY, AT + DAY + minutes_after)
    *_, state = states(daily, seen, after=five_days())
    assert state.verdict.reason == expected


GENTLE = {
    "a holiday": lambda _: daily(0),
    "a day with 25 hours": lambda minute: daily(minute - HOUR),
    "a day with 23 hours": lambda minute: daily(minute + HOUR),
}


@pytest.mark.parametrize("other", [pytest.param(each, id=name) for name, each in GENTLE.items()])
def test_a_day_that_is_unlike_the_others_wastes_little(other):
    """Whether it suspends the forecast or not: at most 5% of the replicas of its day, and of the next one."""
    found = since_then(spliced(other, minutes=2 * DAY // 3), AT + 2 * DAY)
    acting = [each.outcomes.day for each in found if each.verdict.reason == RELIABLE]
    assert max(each.wasted_percent for each in acting) <= 5.0


def test_a_spike_that_occurs_once_does_not_repeat_on_the_next_day():
    def shape(minute):
        return daily(minute) * (4 if AT <= minute < AT + 15 else 1)

    at_that_time = AT + DAY
    for minute, state in enumerate(since_then(shape, at_that_time + 15), AT):
        if minute >= at_that_time - 10:
            assert state.bound < 2 * daily(minute)
