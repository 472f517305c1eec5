"""When a forecast may act: after learning, until its outcomes are bad, and again once they are good for a day."""

from array import array

import msgspec
import pytest

from scaler.forecast.outcomes import useful, with_minute
from scaler.forecast.reliability import LEARNING_MINUTES, REPEATEDLY_SUSPENDED, verdict
from scaler.model.forecast import LEARNING, RELIABLE, Errors, Outcomes, Sums, Verdict
from scaler.model.load_levels import MISSING, Levels

GOOD = Sums(alone=10, added=0.4, useful=0.3, error=0.1, error_without=1.0, minutes=1)
ERRORS = Errors()


def outcomes(*minutes, of=GOOD, count=1440):
    found = Outcomes()
    for minute in (*[of] * count, *minutes):
        found, _ = with_minute(found, minute)
    return found


def levels(minutes=LEARNING_MINUTES, missing=0):
    values = [5.0] * (minutes - missing) + [MISSING] * missing
    return Levels(values=array("f", values), end_minute=20_000_000)


def judge(before=LEARNING, *, over=None, errors=ERRORS, seen=None, suspended_at=()):
    verdict_before = Verdict(reason=before, suspended_at_minutes=suspended_at)
    return verdict(
        verdict_before,
        over or outcomes(),
        errors,
        seen or levels(),
        waste_percent_max=5.0,
    )


def changed(**fields):
    return msgspec.structs.replace(GOOD, **fields)


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
            outcomes(*[changed(added=2.0, useful=0.0)] * 60),
            levels(),
            "TooMuchWaste",
            "20.0 % of the replica-minutes of the last hour, more than 15 %",
            id="a fifth of the last hour wasted",
        ),
        pytest.param(
            outcomes(of=changed(added=1.0, useful=0.45)),
            levels(),
            "TooMuchWaste",
            "5.5 % of the replica-minutes of the last 24 hours, more than 5 %",
            id="5.5 % of the last day wasted",
        ),
        pytest.param(
            outcomes(of=changed(added=0.5, useful=0.19)),
            levels(),
            "TooLittleUse",
            "only 38 %",
            id="most of it was not needed",
        ),
        pytest.param(
            outcomes(of=changed(error=1.2)),
            levels(),
            "NoSkill",
            "20 % larger",
            id="worse than no forecast",
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


def test_little_that_was_added_is_not_judged_by_its_use():
    assert judge(RELIABLE, over=outcomes(of=changed(added=0.09, useful=0.0))).reason == RELIABLE


@pytest.mark.parametrize("side", [1, -1])
def test_errors_beyond_almost_all_others_suspend_it(side):
    """A level shift shows in the errors of half an hour, before a day of outcomes is bad."""
    usual = [0.01 * (n % 100) for n in range(4000)]
    errors = Errors(
        by_age=array("f", [*usual, *[side * 5.0] * 30]),
        by_size=array("f", sorted([*usual, *[side * 5.0] * 30])),
    )
    assert judge(RELIABLE, errors=errors).reason == "UnusualLoad"


def test_a_share_at_its_limit_for_half_an_hour_suspends_it():
    assert judge(RELIABLE, errors=Errors(pinned_minutes=30)).reason == "UnusualLoad"
    assert judge(RELIABLE, errors=Errors(pinned_minutes=29)).reason == RELIABLE


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(GOOD, RELIABLE, id="good for a day"),
        pytest.param(changed(added=1.0, useful=0.69), "TooMuchWaste", id="3.1 % wasted"),
        pytest.param(changed(added=0.4, useful=0.21), "TooMuchWaste", id="52 % needed"),
        pytest.param(changed(error=0.97), "TooMuchWaste", id="hardly better than no forecast"),
    ],
)
def test_it_acts_again_only_when_it_is_better_than_what_suspended_it(of, expected):
    assert judge("TooMuchWaste", over=outcomes(of=of)).reason == expected


def test_it_does_not_act_again_within_a_day():
    now = levels().end_minute
    for minutes, expected in ((1439, "UnusualLoad"), (1440, RELIABLE)):
        suspended = Verdict(reason="UnusualLoad", since_minute=now - minutes)
        found = verdict(suspended, outcomes(), ERRORS, levels(), waste_percent_max=5.0)
        assert found.reason == expected


def test_the_third_suspension_within_a_week_is_the_last():
    now = levels().end_minute
    bad = outcomes(of=changed(error=1.2))
    assert judge(RELIABLE, over=bad, suspended_at=(now - 10_081, now - 9)).reason == "NoSkill"
    last = judge(RELIABLE, over=bad, suspended_at=(now - 10_079, now - 9))
    assert last.reason == REPEATEDLY_SUSPENDED
    assert "3 times within 7 days" in last.message
    assert judge(last.reason).reason == REPEATEDLY_SUSPENDED


def test_what_the_load_needed_counts_up_to_what_was_added():
    assert useful(alone=5, final=8, needed=7) == 2
    assert useful(alone=5, final=8, needed=20) == 3
    assert useful(alone=5, final=8, needed=4) == 0
