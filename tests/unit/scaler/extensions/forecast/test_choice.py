"""Replicas are added where they prevent most shortage for their price, and the forecast is followed as far as that was worth it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.forecast.budget import PRICE
from scaler.extensions.forecast.choice import SHARE_AT_START, Price, followed, judged, wanted
from scaler.extensions.forecast.quantiles import QUANTILES

LEAD_MINUTES = 4
COUNTS = st.floats(0.0, 1_000.0)
PRICES = st.builds(
    Price, mean=st.floats(0.0, 10.0, exclude_min=True), mean_replicas=st.floats(0.0, 1_000.0)
)
QUANTILE_COUNTS = st.lists(COUNTS, min_size=len(QUANTILES), max_size=len(QUANTILES))


def price(of_replica, mean_replicas=10.0):
    """With so many replicas on average."""
    return Price(mean=of_replica * mean_replicas, mean_replicas=mean_replicas)


class Minute(msgspec.Struct, frozen=True):
    present: int
    wanted: int


def after(minutes, *counts, needed, share=SHARE_AT_START):
    """The share after so many minutes with the same load and 10 replicas, and with these wanted in turn."""
    lead = []
    for minute in range(minutes):
        lead.append(Minute(10, counts[minute % len(counts)]))
        if len(lead) == LEAD_MINUTES:
            share = judged(share, lead, needed, price(0.003))
            lead = lead[1:]
    return share


@pytest.mark.parametrize(
    ("replicas", "of_replica", "expected"),
    [
        pytest.param((12, 14, 16, 18, 20, 30), 0.0, 30, id="without a price, the highest quantile"),
        pytest.param((12, 14, 16, 18, 20, 30), 1.0, 10, id="too expensive: those that there are"),
        pytest.param((20, 20, 20, 20, 20, 20), 0.01, 20, id="a jump that is certain, in full"),
        pytest.param((12, 12, 12, 12, 12, 90), 0.001, 12, id="not for what is improbable"),
        pytest.param((1, 2, 3, 4, 5, 6), 0.001, 10, id="never fewer"),
    ],
)
def test_the_replicas_with_the_least_cost_are_wanted(replicas, of_replica, expected):
    assert wanted(replicas, 10, price(of_replica), before=10) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        pytest.param(10, 16, id="added as far as that is worth it"),
        pytest.param(16, 16, id="then kept"),
        pytest.param(19, 19, id="kept: removing some would save less than it costs"),
        pytest.param(22, 22, id="the most that are kept"),
        pytest.param(29, 22, id="more are removed"),
    ],
)
def test_fewer_are_added_than_are_kept(before, expected):
    """So the noise of a load starts fewer pods."""
    assert wanted((11.0, 13.0, 15.0, 18.0, 22.0, 28.0), 10, price(0.01), before) == expected


@pytest.mark.parametrize("height", [20, 100, 1_000, 100_000])
def test_a_batch_that_is_certain_is_met_in_full_however_high_it_is(height):
    """As long as it takes little of the budget."""
    calm = Price(mean=PRICE, mean_replicas=1.5)
    assert wanted((float(height),) * len(QUANTILES), 1, calm, before=1) == height


def test_after_a_high_batch_no_replicas_are_kept():
    calm = Price(mean=PRICE, mean_replicas=5.0)
    assert wanted((6.0, 6.0, 6.0, 7.0, 8.0, 9.0), 6, calm, before=100) <= 9


@given(QUANTILE_COUNTS, PRICES, st.integers(0, 1_000))
def test_what_is_wanted_lies_between_the_present_and_the_highest_quantile(counts, each, before):
    found = wanted(sorted(counts), 10, each, before)
    assert 10 <= found <= max(10, max(counts) + 1, before)


@given(QUANTILE_COUNTS, PRICES, st.integers(0, 1_000))
def test_the_same_quantiles_change_nothing_in_the_next_minute(counts, each, before):
    first = wanted(sorted(counts), 10, each, before)
    assert wanted(sorted(counts), 10, each, first) == first


@given(QUANTILE_COUNTS, PRICES, st.floats(0.0, 1.0))
def test_a_higher_price_never_adds_more(counts, high, share):
    low = msgspec.structs.replace(high, mean=share * high.mean)
    added, at_less = (wanted(sorted(counts), 10, each, before=10) for each in (high, low))
    assert added <= at_less


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
    PRICES,
)
def test_a_share_stays_between_nothing_and_all(share, present, added, needed, each):
    lead = [Minute(present, present + added)] * LEAD_MINUTES
    assert 0.0 < judged(share, lead, needed, each) < 1.0
