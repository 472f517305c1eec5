"""When a forecast may act: after learning, until its outcomes are bad, and again once they are good."""

from array import array

import msgspec
import pytest

from scaler.extensions.forecast.combination import OPTIONS, START, combined
from scaler.extensions.forecast.days import IN_UTC
from scaler.extensions.forecast.features import is_unusual
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, MISSING, Levels
from scaler.extensions.forecast.outcomes import useful, with_minutes
from scaler.extensions.forecast.reliability import LEARNING_MINUTES, verdict
from scaler.extensions.forecast.state import (
    LEARNING,
    RELIABLE,
    Forecast,
    Issued,
    Outcomes,
    Sums,
    Verdict,
)

GOOD = Sums(alone=10, added=0.4, useful=0.3, minutes=1)


def outcomes(*minutes, of=GOOD, count=1440):
    found = Outcomes()
    for minute in (*[of] * count, *minutes):
        found, _ = with_minutes(found, minute)
    return found


def levels(minutes=LEARNING_MINUTES, missing=0):
    values = [5.0] * (minutes - missing) + [MISSING] * missing
    return Levels(values=array("f", values), end_minute=20_000_000)


def judge(before=LEARNING, *, over=None, seen=None, is_unusual=False, issued=()):
    state = Forecast(
        identity="load",
        lead_minutes=5,
        verdict=Verdict(reason=before),
        outcomes=over or outcomes(),
        levels=seen or levels(),
        is_unusual=is_unusual,
        issued=issued,
    )
    return verdict(state, 5.0)


def changed(**fields):
    return msgspec.structs.replace(GOOD, **fields)


def wasting(percent):
    """A day on which so much was wasted, and as much was needed."""
    return outcomes(of=changed(added=percent / 5, useful=percent / 10))


def test_after_three_days_a_good_forecast_may_act():
    assert judge().reason == RELIABLE


@pytest.mark.parametrize(
    ("over", "seen"),
    [
        pytest.param(outcomes(), levels(LEARNING_MINUTES - 1), id="less than three days of load"),
        pytest.param(outcomes(), levels(missing=433), id="more than a tenth of it missing"),
        pytest.param(outcomes(count=1429), levels(), id="less than a day judged"),
    ],
)
def test_before_that_it_learns(over, seen):
    assert judge(over=over, seen=seen).reason == LEARNING


@pytest.mark.parametrize(
    ("over", "seen", "reason", "number"),
    [
        pytest.param(
            wasting(4.8),
            levels(),
            "TooMuchWaste",
            "11.5 replica-hours were not needed, or are not known to be; its budget of 5% is 12.0",
            id="96% of the budget used",
        ),
        pytest.param(
            outcomes(),
            levels(missing=7),
            "MissingSamples",
            "7 of the last 60",
            id="seven minutes missing",
        ),
    ],
)
def test_it_is_suspended_with_the_number_that_is_too_bad(over, seen, reason, number):
    found = judge(RELIABLE, over=over, seen=seen)
    assert found.reason == reason
    assert number in found.message


def test_what_has_no_outcome_yet_counts_as_used():
    """Or five minutes of it could exceed the budget."""
    unknown = Issued(
        minute=1,
        lead_minutes=5,
        combined=combined(START, array("f", [0.0] * OPTIONS), 10.0),
        needed=1,
        alone=10,
        final=60,
    )
    assert judge(RELIABLE, over=wasting(4.6)).reason == RELIABLE
    assert judge(RELIABLE, over=wasting(4.6), issued=(unknown,)).reason == "TooMuchWaste"


def test_half_an_hour_that_is_like_no_earlier_day_suspends_it():
    """A level shift shows at once, before a day of outcomes is bad."""
    found = judge(RELIABLE, is_unusual=True)
    assert found.reason == "UnusualLoad"
    assert "the load of the last 30 minutes is more than 1.65 times" in found.message


@pytest.mark.parametrize("factor", [0.33, 0.6, 1.0, 1.6, 3.0])
def test_the_mean_of_half_an_hour_is_compared_not_its_minutes(factor):
    """Each second minute is half as high, in each day: a single minute says nothing about the level."""
    noisy = [10.0, 5.0] * (7 * MINUTES_PER_DAY // 2)
    today = [factor * each for each in noisy[:30]]
    found = Levels(values=array("f", noisy + today), end_minute=20_000_000)
    assert is_unusual(found, 20_000_000, 0.0, IN_UTC) == (factor in (0.33, 0.6, 3.0))


@pytest.mark.parametrize("like", [1, 2, 7])
def test_one_earlier_day_like_the_present_is_enough(like):
    days = {day: [30.0] * MINUTES_PER_DAY for day in range(1, 9)}
    days[like] = [10.0] * MINUTES_PER_DAY
    values = [each for day in sorted(days, reverse=True) for each in days[day]] + [10.0] * 60
    assert not is_unusual(Levels(values=array("f", values), end_minute=9), 9, 0.0, IN_UTC)


def test_a_half_hour_with_a_missing_minute_is_not_compared():
    values = [30.0] * MINUTES_PER_DAY + [10.0] * 29 + [MISSING]
    assert not is_unusual(Levels(values=array("f", values), end_minute=9), 9, 0.0, IN_UTC)
    values[-1] = 10.0
    assert is_unusual(Levels(values=array("f", values), end_minute=9), 9, 0.0, IN_UTC)


@pytest.mark.parametrize(
    ("reason", "over", "is_unusual", "expected"),
    [
        pytest.param("TooMuchWaste", wasting(3.9), False, RELIABLE, id="78% of the budget used"),
        pytest.param("TooMuchWaste", wasting(4.1), False, "TooMuchWaste", id="82% used"),
        pytest.param("UnusualLoad", outcomes(), False, RELIABLE, id="a day is like the present"),
        pytest.param("UnusualLoad", outcomes(), True, "UnusualLoad", id="none is"),
        pytest.param(
            "UnusualLoad", wasting(4.1), False, "UnusualLoad", id="but its budget is used"
        ),
    ],
)
def test_it_acts_again_only_when_it_is_better_than_what_suspended_it(
    reason, over, is_unusual, expected
):
    assert judge(reason, over=over, is_unusual=is_unusual).reason == expected


def test_what_the_load_needed_counts_up_to_what_was_added():
    assert useful(alone=5, final=8, needed=7) == 2
    assert useful(alone=5, final=8, needed=20) == 3
    assert useful(alone=5, final=8, needed=4) == 0
