"""Replicas are added where they prevent most shortage for their price, and the forecast is followed as far as that was worth it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.forecast.choice import SHARE_AT_START, followed, judged, wanted
from scaler.extensions.forecast.quantiles import QUANTILES

LEAD_MINUTES = 4
COUNTS = st.floats(0.0, 1_000.0)
QUANTILE_COUNTS = st.lists(COUNTS, min_size=len(QUANTILES), max_size=len(QUANTILES))


class Minute(msgspec.Struct, frozen=True):
    present: int
    wanted: int


def after(minutes, *counts, needed, price=0.003, share=SHARE_AT_START):
    """The share after so many minutes with the same load and 10 replicas, and with these wanted in turn."""
    lead = []
    for minute in range(minutes):
        lead.append(Minute(10, counts[minute % len(counts)]))
        if len(lead) == LEAD_MINUTES:
            share = judged(share, lead, needed, price)
            lead = lead[1:]
    return share


@pytest.mark.parametrize(
    ("replicas", "price", "expected"),
    [
        pytest.param((12, 14, 16, 18, 20, 30), 0.0, 30, id="without a price, the highest quantile"),
        pytest.param((12, 14, 16, 18, 20, 30), 1.0, 10, id="too expensive: those that there are"),
        pytest.param((20, 20, 20, 20, 20, 20), 0.01, 20, id="a jump that is certain, in full"),
        pytest.param((12, 12, 12, 12, 12, 90), 0.001, 12, id="not for what is improbable"),
        pytest.param((1, 2, 3, 4, 5, 6), 0.001, 10, id="never fewer"),
    ],
)
def test_the_replicas_with_the_least_cost_are_wanted(replicas, price, expected):
    assert wanted(replicas, 10, price, before=10) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        pytest.param(10, 17, id="added as far as that is worth it"),
        pytest.param(17, 17, id="then kept"),
        pytest.param(19, 19, id="kept: removing some would save less than it costs"),
        pytest.param(22, 22, id="the most that are kept"),
        pytest.param(29, 22, id="more are removed"),
    ],
)
def test_fewer_are_added_than_are_kept(before, expected):
    """So the noise of a load starts fewer pods."""
    assert wanted((11.0, 13.0, 15.0, 18.0, 22.0, 28.0), 10, 0.01, before) == expected


@given(QUANTILE_COUNTS, st.floats(0.0, 1.0), st.integers(0, 1_000))
def test_what_is_wanted_lies_between_the_present_and_the_highest_quantile(counts, price, before):
    found = wanted(sorted(counts), 10, price, before)
    assert 10 <= found <= max(10, max(counts) + 1, before)


@given(QUANTILE_COUNTS, st.floats(0.001, 1.0), st.integers(0, 1_000))
def test_the_same_quantiles_change_nothing_in_the_next_minute(counts, price, before):
    first = wanted(sorted(counts), 10, price, before)
    assert wanted(sorted(counts), 10, price, first) == first


@given(QUANTILE_COUNTS, st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(0, 1_000))
def test_a_higher_price_never_adds_more(counts, one, other, before):
    low, high = sorted((one, other))
    assert wanted(sorted(counts), 10, high, before) <= wanted(sorted(counts), 10, low, before)


def test_a_forecast_that_prevents_shortage_is_followed_in_full_after_an_hour():
    share = after(60, 20, needed=20.0)
    assert followed(share, Minute(10, 20)) == 20


def test_a_forecast_that_adds_what_is_never_needed_is_not_followed():
    share = after(3 * 1440, 20, needed=10.0)
    assert followed(share, Minute(10, 20)) == 10


def test_a_forecast_that_lets_its_replicas_go_before_they_are_needed_is_not_followed():
    for_one_minute_in_four = (10, 10, 10, 20)
    share = after(3 * 1440, *for_one_minute_in_four, needed=20.0)
    assert followed(share, Minute(10, 20)) == 10


def test_a_forecast_becomes_useful_again_within_an_hour():
    quiet = after(3 * 1440, 20, needed=10.0)
    assert followed(after(60, 20, needed=20.0, share=quiet), Minute(10, 20)) == 20


@given(
    st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    COUNTS,
    st.floats(0.0, 10.0),
)
def test_a_share_stays_between_nothing_and_all(share, present, added, needed, price):
    lead = [Minute(present, present + added)] * LEAD_MINUTES
    assert 0.0 < judged(share, lead, needed, price) < 1.0
