"""Options are followed by their losses, and never below the replicas without the forecast."""

from array import array

import pytest

from scaler.extensions.forecast.combination import OPTIONS, START, combined, judged, options

NOTHING = array("f", [0.0] * OPTIONS)


def wanting(replicas, *, only=None):
    """One option, or all of them, is for so many replicas."""
    return array("f", [replicas if only in (None, each) else 0.0 for each in range(OPTIONS)])


def after(minutes, replicas, *, needed, price=0.03):
    """The shares after so many minutes with the same options and the same load."""
    shares = START
    for _ in range(minutes):
        found = combined(shares, replicas, 10.0)
        shares = judged(shares, replicas, found, needed, price)
    return shares


def test_options_below_the_replicas_without_the_forecast_change_nothing():
    assert combined(START, wanting(7.0), 10.0).after == (10.0, 10.0)


def test_an_option_that_prevents_shortage_is_followed_in_full_after_some_of_it():
    shares = after(60, wanting(20.0, only=1), needed=20.0)
    assert combined(shares, wanting(20.0, only=1), 10.0).after[-1] == pytest.approx(20.0, abs=0.1)


def test_options_that_add_what_is_never_needed_are_not_followed():
    shares = after(3 * 1440, wanting(20.0), needed=10.0)
    assert round(combined(shares, wanting(20.0), 10.0).after[-1]) == 10


def test_a_new_best_option_is_found_within_an_hour():
    shares = after(3 * 1440, wanting(20.0, only=1), needed=10.0)
    for _ in range(60):
        found = combined(shares, wanting(20.0, only=1), 10.0)
        shares = judged(shares, wanting(20.0, only=1), found, 20.0, 0.03)
    assert combined(shares, wanting(20.0, only=1), 10.0).after[-1] > 19.0


def test_shares_stay_a_distribution():
    for of_stage in after(500, wanting(20.0, only=3), needed=30.0):
        assert min(of_stage) > 0.0
        assert sum(of_stage) == pytest.approx(1.0)


def test_a_load_that_no_replicas_can_serve_is_for_the_maximum():
    assert max(options((1e12, *[None] * 6), 1.0, 200, array("f"))) == 200
