"""Hourly batches into which something else is spliced: what the forecast adds then, and how soon it has learned that they are gone."""

from functools import cache

import pytest

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.state import RELIABLE
from tests.unit.scaler.extensions.forecast.loads import (
    BUDGET,
    DAY,
    HOUR,
    each_hour,
    learned,
    noise,
    states,
)

AT = 5 * DAY + DAY // 3
"""In the morning of the sixth day."""


def spliced(other, *, minutes=DAY):
    """`other` in place of the batches for so many minutes."""
    return lambda minute: other(minute) if AT <= minute < AT + minutes else each_hour(minute)


@cache
def five_days():
    """What the forecast knows of the batches when something else begins. It acts."""
    state = learned(each_hour, range(AT))
    assert state.verdict.reason == RELIABLE
    return state


def since_then(shape, until):
    """The states from then on."""
    return list(states(shape, range(AT, until), after=five_days()))


def added_percent(found, first_hour, last_hour):
    """Of the replicas without the forecast, in these hours."""
    newest = [each.issued[-1] for each in found[first_hour * HOUR : last_hour * HOUR]]
    added = sum(each.final - each.alone for each in newest)
    return 100.0 * added / sum(each.alone for each in newest)


def stays_within_its_budget(found):
    acting = [each for each in found if each.issued[-1].final > each.issued[-1].alone]
    assert acting
    return all(budget_of(each, BUDGET).used_share <= 1.0 for each in acting)


def test_what_is_known_of_days_does_not_change_when_it_is_continued():
    """The tests of this module continue one state."""
    first, second = (since_then(spliced(lambda _: 0.0), AT + HOUR)[-1] for _ in range(2))
    assert first == second

    def ending(minute):
        return each_hour(minute) if minute < DAY else 0.0

    day = learned(each_hour, range(DAY))
    ends = [learned(ending, range(DAY, DAY + HOUR), after=day) for _ in range(2)]
    assert ends[0] == ends[1] == learned(ending, range(DAY + HOUR))


def test_batches_that_come_are_met_in_full():
    """What is added before each of them is up to a third of all replicas."""
    found = since_then(each_hour, AT + 6 * HOUR)
    before_batches = [each for minute, each in enumerate(found, AT) if minute % HOUR == 49]
    assert all(10 * each.issued[-1].final >= 500 / 1.25 for each in before_batches)
    assert 20.0 < added_percent(found, 0, 6) < 40.0


def test_batches_that_come_no_more_are_forgotten_within_three_hours():
    found = since_then(spliced(lambda minute: 100.0 + 5.0 * noise(minute)), AT + DAY)
    assert added_percent(found, 3, 6) < 10.0
    assert added_percent(found, 6, 24) < 1.0
    assert stays_within_its_budget(found)


def test_batches_at_another_time_of_the_hour_are_met_a_day_and_a_half_later():
    """In the hours between, it adds less and less at the former times, at which most days had them."""
    found = since_then(lambda minute: each_hour(minute + HOUR // 2), AT + 2 * DAY)
    assert added_percent(found, 0, 12) < 30.0
    assert added_percent(found, 16, 24) < 3.0
    before_batches = [each for minute, each in enumerate(found, AT) if minute % HOUR == 19]
    assert all(10 * each.issued[-1].final >= 500 / 1.25 for each in before_batches[36:42])
    assert stays_within_its_budget(found)


@pytest.mark.parametrize("factor", [1 / 3, 0.5, 2.0, 3.0])
def test_on_another_level_it_adds_about_as_much_again_after_two_hours(factor):
    """And never more than its budget."""
    found = since_then(spliced(lambda minute: factor * each_hour(minute)), AT + DAY + 6 * HOUR)
    assert added_percent(found, 2, 6) < 50.0
    assert stays_within_its_budget(found)


def test_another_metric_of_the_same_name_is_learned_within_its_budget():
    """It has a fiftieth of the load."""
    found = since_then(spliced(lambda minute: 0.02 * each_hour(minute + HOUR // 2)), AT + DAY)
    assert stays_within_its_budget(found)
    assert added_percent(found, 12, 24) < 10.0


NOISE = {
    "that changes each minute": lambda minute: 300 + 250 * noise(minute),
    "that changes each hour": lambda minute: 300 + 250 * noise(minute // HOUR),
}


@pytest.mark.parametrize("other", [pytest.param(each, id=name) for name, each in NOISE.items()])
def test_a_day_of_white_noise_stays_within_the_budget_and_does_not_end_the_forecast(other):
    found = since_then(spliced(other), AT + 2 * DAY)
    assert stays_within_its_budget(found)
    assert found[-1].verdict.reason == RELIABLE


@pytest.mark.parametrize("lost", [HOUR, DAY])
def test_after_a_gap_it_acts_at_once(lost):
    """The batches are at the same minutes of the days before."""
    found = list(states(each_hour, range(AT + lost, AT + lost + 2 * HOUR), after=five_days()))
    before_batches = [each for minute, each in enumerate(found, AT + lost) if minute % HOUR == 49]
    assert all(each.verdict.reason == RELIABLE for each in found)
    first, second = (10 * each.issued[-1].final for each in before_batches)
    assert first >= 250
    assert second >= 500 / 1.25


def test_a_spike_that_occurs_once_does_not_repeat_on_the_next_day():
    def shape(minute):
        return each_hour(minute) * (4 if AT <= minute < AT + 15 else 1)

    found = since_then(shape, AT + DAY + 15)
    assert max(each.issued[-1].final for each in found[DAY - 10 : DAY + 15]) * 10 < 2 * 500
