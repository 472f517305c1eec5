"""Options are followed by their losses, and never below the replicas without the forecast."""

from array import array

import msgspec
import pytest

from scaler.extensions.forecast.combination import (
    OPTIONS,
    START,
    Combined,
    combined,
    judged,
    options,
)
from scaler.extensions.forecast.load_levels import Floats

LEAD_MINUTES = 4


class Minute(msgspec.Struct, frozen=True):
    """What was expected in one minute."""

    options: Floats
    combined: Combined


def wanting(replicas, *, only=None):
    """One option, or all of them, is for so many replicas."""
    return array("f", [replicas if only in (None, each) else 0.0 for each in range(OPTIONS)])


def after(minutes, *replicas, needed, price=0.03, shares=START):
    """The shares after so many minutes with the same load, and with these options in turn."""
    lead = []
    for minute in range(minutes):
        wanted = replicas[minute % len(replicas)]
        lead.append(Minute(wanted, combined(shares, wanted, 10.0)))
        if len(lead) == LEAD_MINUTES:
            shares = judged(shares, lead, needed, price)
            lead = lead[1:]
    return shares


def test_options_below_the_replicas_without_the_forecast_change_nothing():
    assert combined(START, wanting(7.0), 10.0).after == (10.0, 10.0)


def test_an_option_that_prevents_shortage_is_followed_in_full_after_some_of_it():
    shares = after(60, wanting(20.0, only=1), needed=20.0)
    assert combined(shares, wanting(20.0, only=1), 10.0).after[-1] == pytest.approx(20.0, abs=0.1)


def test_options_that_add_what_is_never_needed_are_not_followed():
    shares = after(3 * 1440, wanting(20.0), needed=10.0)
    assert round(combined(shares, wanting(20.0), 10.0).after[-1]) == 10


def test_an_option_that_lets_its_replicas_go_before_they_are_needed_is_not_followed():
    for_one_minute_in_four = (wanting(0.0), wanting(0.0), wanting(0.0), wanting(20.0, only=1))
    shares = after(3 * 1440, *for_one_minute_in_four, needed=20.0)
    assert round(combined(shares, wanting(20.0, only=1), 10.0).after[-1]) == 10


def test_the_price_is_that_of_the_replicas_without_the_forecast():
    """An option that doubles them costs as much with 10 replicas as with 1,000."""
    few = [Minute(wanting(20.0), combined(START, wanting(20.0), 10.0))]
    many = [Minute(wanting(2_000.0), combined(START, wanting(2_000.0), 1_000.0))]
    assert judged(START, few, 10.0, 0.5)[0] == pytest.approx(judged(START, many, 1_000.0, 0.5)[0])


def test_a_new_best_option_is_found_within_an_hour():
    quiet = after(3 * 1440, wanting(20.0, only=1), needed=10.0)
    shares = after(60, wanting(20.0, only=1), needed=20.0, shares=quiet)
    assert combined(shares, wanting(20.0, only=1), 10.0).after[-1] > 19.0


def test_shares_stay_a_distribution():
    for of_stage in after(500, wanting(20.0, only=3), needed=30.0):
        assert min(of_stage) > 0.0
        assert sum(of_stage) == pytest.approx(1.0)


def test_a_load_that_no_replicas_can_serve_is_for_the_maximum():
    assert max(options((1e12, *[None] * 6), 1.0, 200, array("f"))) == 200
