"""When a forecast may act: after learning, until its outcomes are bad, and again once they are good."""

from array import array

import msgspec
import pytest

from scaler.extensions.forecast.load_levels import MISSING, Levels
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


def judge(before=LEARNING, *, over=None, seen=None, issued=()):
    state = Forecast(
        identity="load",
        lead_minutes=5,
        verdict=Verdict(reason=before),
        outcomes=over or outcomes(),
        levels=seen or levels(),
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
        pytest.param(outcomes(), levels(missing=1), id="a minute of them without a value"),
        pytest.param(outcomes(count=1429), levels(), id="less than a day judged"),
    ],
)
def test_before_that_it_learns(over, seen):
    assert judge(over=over, seen=seen).reason == LEARNING


def test_a_load_without_values_at_night_is_learned_in_more_than_three_days():
    """Only minutes with a value count."""
    office_hours = ([5.0] * 600 + [MISSING] * 840) * 8
    seen = Levels(values=array("f", office_hours), end_minute=20_000_000)
    assert judge(seen=seen).reason == RELIABLE


def test_it_is_suspended_with_the_number_that_is_too_bad():
    """96% of the budget is used."""
    found = judge(RELIABLE, over=wasting(4.8))
    assert found.reason == "TooMuchWaste"
    assert (
        "11.5 replica-hours were not needed, or are not known to be; its budget of 5% is 12.0"
        in found.message
    )


def test_what_has_no_outcome_yet_counts_as_used():
    """Or five minutes of it could exceed the budget."""
    unknown = Issued(
        minute=1,
        lead_minutes=5,
        present=10,
        by_model=60,
        by_days=10,
        needed=1,
        alone=10,
        final=60,
    )
    assert judge(RELIABLE, over=wasting(4.6)).reason == RELIABLE
    assert judge(RELIABLE, over=wasting(4.6), issued=(unknown,)).reason == "TooMuchWaste"


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        pytest.param(wasting(3.9), RELIABLE, id="78% of the budget used"),
        pytest.param(wasting(4.1), "TooMuchWaste", id="82% used"),
    ],
)
def test_it_acts_again_only_when_less_of_the_budget_is_used(over, expected):
    assert judge("TooMuchWaste", over=over).reason == expected


def test_what_the_load_needed_counts_up_to_what_was_added():
    assert useful(alone=5, final=8, needed=7) == 2
    assert useful(alone=5, final=8, needed=20) == 3
    assert useful(alone=5, final=8, needed=4) == 0
