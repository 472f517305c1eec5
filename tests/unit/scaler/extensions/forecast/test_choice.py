"""Replicas are added where they prevent most shortage for their price, and the forecast is followed as far as that was worth it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.forecast.budget import PRICE
from scaler.extensions.forecast.choice import Price, Shares, followed, judged, with_least_cost
from scaler.extensions.forecast.quantiles import QUANTILES

LEAD_MINUTES = 4
AT_START = Shares()
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
    by_model: int
    by_days: int


def of_model(present, count):
    return Minute(present, count, present)


def of_days(present, count):
    return Minute(present, present, count)


def after(minutes, *counts, needed, shares=AT_START, way=of_model):
    """The shares after so many minutes with the same load and 10 replicas, and with these in turn in one way to choose."""
    lead = []
    for minute in range(minutes):
        lead.append(way(10, counts[minute % len(counts)]))
        if len(lead) == LEAD_MINUTES:
            shares = judged(shares, lead, needed, price(0.003))
            lead = lead[1:]
    return shares


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
    assert with_least_cost(replicas, 10, price(of_replica), before=10) == pytest.approx(
        expected, abs=1
    )


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
    assert (
        with_least_cost((11.0, 13.0, 15.0, 18.0, 22.0, 28.0), 10, price(0.01), before) == expected
    )


@pytest.mark.parametrize("height", [20, 100, 1_000, 100_000])
def test_a_batch_that_is_certain_is_met_in_full_however_high_it_is(height):
    """As long as it takes little of the budget."""
    calm = Price(mean=PRICE, mean_replicas=1.5)
    assert with_least_cost((float(height),) * len(QUANTILES), 1, calm, before=1) == height


def test_after_a_high_batch_no_replicas_are_kept():
    calm = Price(mean=PRICE, mean_replicas=5.0)
    assert with_least_cost((6.0, 6.0, 6.0, 7.0, 8.0, 9.0), 6, calm, before=100) <= 9


@given(QUANTILE_COUNTS, PRICES, st.integers(0, 1_000))
def test_what_is_wanted_lies_between_the_present_and_the_highest_quantile(counts, each, before):
    found = with_least_cost(sorted(counts), 10, each, before)
    assert 10 <= found <= max(10, max(counts) + 1, before)


@given(QUANTILE_COUNTS, PRICES, st.integers(0, 1_000))
def test_the_same_quantiles_change_nothing_in_the_next_minute(counts, each, before):
    first = with_least_cost(sorted(counts), 10, each, before)
    assert with_least_cost(sorted(counts), 10, each, first) == first


@given(QUANTILE_COUNTS, PRICES, st.floats(0.0, 1.0))
def test_a_higher_price_never_adds_more(counts, high, share):
    low = msgspec.structs.replace(high, mean=share * high.mean)
    added, at_less = (with_least_cost(sorted(counts), 10, each, before=10) for each in (high, low))
    assert added <= at_less


WAYS = pytest.mark.parametrize("way", [of_model, of_days])


@WAYS
def test_what_prevents_shortage_is_followed_in_full_after_an_hour(way):
    shares = after(60, 20, needed=20.0, way=way)
    assert followed(shares, way(10, 20)) == 20


@WAYS
def test_what_adds_replicas_that_are_never_needed_is_not_followed(way):
    shares = after(3 * 1440, 20, needed=10.0, way=way)
    assert followed(shares, way(10, 20)) == 10


@WAYS
def test_what_lets_its_replicas_go_before_they_are_needed_is_not_followed(way):
    for_one_minute_in_four = (10, 10, 10, 20)
    shares = after(3 * 1440, *for_one_minute_in_four, needed=20.0, way=way)
    assert followed(shares, way(10, 20)) == 10


@WAYS
def test_what_was_not_worth_its_price_is_followed_again_within_an_hour(way):
    quiet = after(3 * 1440, 20, needed=10.0, way=way)
    assert followed(after(60, 20, needed=20.0, shares=quiet, way=way), way(10, 20)) == 20


@WAYS
def test_what_adds_nothing_costs_as_much_as_nothing(way):
    other = of_days if way is of_model else of_model
    shares = after(60, 20, needed=20.0, way=other)
    assert followed(shares, way(10, 20)) == 10


def test_the_mean_of_the_ways_is_followed_by_their_shares():
    shares = Shares(model=0.5, days=0.25)
    assert followed(shares, Minute(10, 20, 30)) == 20


def test_a_short_batch_of_most_days_is_worth_its_price():
    """Of 44 times the mean replicas of the day, for a few minutes before it comes, on a day with it and on one without."""
    calm = Price(mean=PRICE, mean_replicas=1.0)
    lead = [of_days(1, 44)] * LEAD_MINUTES
    shares = AT_START
    for needed in (44.0, 1.0):
        for _ in range(2 * LEAD_MINUTES):
            shares = judged(shares, lead, needed, calm)
    assert shares.days > AT_START.days


@given(
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    COUNTS,
    PRICES,
)
def test_the_shares_stay_between_nothing_and_all(
    model, of_rest, present, by_model, by_days, needed, each
):
    shares = Shares(model=model, days=(1.0 - model) * of_rest)
    lead = [Minute(present, present + by_model, present + by_days)] * LEAD_MINUTES
    found = judged(shares, lead, needed, each)
    assert 0.0 < found.model < 1.0
    assert 0.0 < found.days < 1.0
    assert 0.0 < found.nothing < 1.0
