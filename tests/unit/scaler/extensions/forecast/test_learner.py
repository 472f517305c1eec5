"""A forecast over days of load: it learns the day, and what it says does not depend on the future."""

import math

import pytest

from scaler.extensions.forecast import quantiles
from scaler.extensions.forecast.choice import SHORTAGE_FROM
from scaler.extensions.forecast.days import IN_UTC
from scaler.extensions.forecast.features import rise, seen
from scaler.extensions.forecast.learner import observed
from scaler.extensions.forecast.state import LEARNING, RELIABLE, moved
from tests.unit.scaler.extensions.forecast.loads import (
    DAY,
    START,
    before_opening,
    daily,
    learned,
    noise,
    observation,
)

NOON = DAY // 2


@pytest.fixture(scope="module")
def after_four_days():
    """Learned four days of a daily load, until six in the morning."""
    return learned(daily, range(4 * DAY + DAY // 4))


def test_the_bound_of_a_daily_load_is_ahead_of_a_ramp(after_four_days):
    ramp = [daily(4 * DAY + DAY // 4 + each) for each in range(1, 6)]
    assert max(ramp) <= after_four_days.bound <= 1.1 * max(ramp)


def test_a_jump_of_every_day_is_expected_in_full():
    assert 290 <= before_opening().bound <= 330
    assert 300 / SHORTAGE_FROM <= 10 * before_opening().wanted <= 300


def test_what_was_added_and_needed_is_in_the_verdict():
    found = before_opening().verdict
    assert found.reason == RELIABLE
    assert "% were needed; it wasted" in found.message


def test_a_slow_daily_load_adds_nearly_nothing(after_four_days):
    """It rises by less than the tolerance within the lead."""
    assert after_four_days.verdict.reason == RELIABLE
    day = after_four_days.outcomes.day
    assert day.added < 0.001 * day.alone


def test_each_minute_the_example_of_the_day_before_is_learned_again(after_four_days):
    before, minute = after_four_days, after_four_days.levels.end_minute + 1
    later = observed(before, observation(minute, daily(minute - START)))
    assert later.levels.end_minute == minute
    oldest, levels, lead, offset = before.issued[0], later.levels, before.lead_minutes, later.offset
    yesterday = seen(levels, oldest.minute - DAY, lead, offset, IN_UTC)
    model = quantiles.learned(
        before.model, oldest.features, rise(levels, oldest.minute, lead, offset)
    )
    followed = rise(levels, oldest.minute - DAY, lead, offset)
    assert later.model == quantiles.learned(model, yesterday, followed)


def test_in_the_first_three_days_it_learns():
    assert learned(daily, range(2 * DAY)).verdict.reason == LEARNING


def test_noise_is_not_answered_with_more_than_its_peaks():
    found = learned(lambda minute: 100 + 50 * noise(minute), range(2 * DAY + 60))
    assert found.bound <= 1.2 * 150
    assert found.wanted <= 15


@pytest.mark.parametrize(("load", "replicas"), [(0.0, 1), (1e-9, 1), (95.0, 10), (1e12, 10**11)])
def test_a_constant_load_adds_nothing_to_the_replicas_that_it_has(load, replicas):
    found = learned(lambda _: load, range(DAY + 200))
    assert found.bound == pytest.approx(load, rel=0.01, abs=1e-8)
    assert found.wanted == replicas


def test_a_load_that_appears_from_nothing_has_a_finite_bound():
    found = learned(lambda minute: 0.0 if minute < DAY + 200 else 1e9, range(DAY + 300))
    assert found.bound is not None
    assert math.isfinite(found.bound)


def test_after_a_lost_day_the_days_before_are_used():
    seen = [each for each in range(3 * DAY + NOON) if not 2 * DAY <= each < 3 * DAY]
    found = learned(daily, seen)
    assert found.bound is not None


def test_after_a_step_of_the_clock_the_same_load_has_the_same_forecast(after_four_days):
    """The minutes of what is known move with the clock."""
    last = after_four_days.levels.end_minute - START
    plain, stepped = (
        observed(state, observation(START + minute, daily(last + 1)))
        for state, minute in ((after_four_days, last + 1), (moved(after_four_days, 60), last + 61))
    )
    assert stepped.bound == plain.bound
    assert len(stepped.issued) == len(plain.issued)
