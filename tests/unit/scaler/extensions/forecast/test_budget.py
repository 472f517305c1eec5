"""The budget of a forecast, on random loads."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.outcomes import of_intervals
from scaler.extensions.forecast.state import Forecast, Sums
from tests.unit.scaler.extensions.forecast.loads import DAY, each_hour, learned, states

FIRST = 3 * DAY + 30
BUDGETS = [1.0, 3.0, 30.0]
# Whether an hour has its batch, from the fourth day on.
hours = st.lists(st.booleans(), min_size=8, max_size=28)


@pytest.fixture(scope="module")
def after_three_days():
    return {each: learned(each_hour, range(FIRST), budget=each) for each in BUDGETS}


def spent_by_minute(after_three_days, is_usual, budget):
    """The budget at each minute in which replicas were added, where the batches of some hours do not come."""

    def load(minute):
        return each_hour(minute) if is_usual[(minute - FIRST) // 60] else 100.0

    minutes = range(FIRST, FIRST + 60 * len(is_usual))
    for state in states(load, minutes, budget=budget, after=after_three_days[budget]):
        if state.issued[-1].final > state.issued[-1].alone:
            yield budget_of(state, budget)


def test_an_hour_with_a_hundred_times_the_replicas_earns_no_budget_for_the_day():
    quiet, burst = (Sums(alone=alone, minutes=10) for alone in (100.0, 10_000.0))
    state = Forecast(
        identity="load",
        lead_minutes=5,
        outcomes=of_intervals((*[quiet] * 138, *[burst] * 6)),
    )
    budget = budget_of(state, 30.0)
    assert budget.allowed == pytest.approx(0.3 * (138 * 100 + 6 * 400))
    assert budget.mean_replicas == pytest.approx((138 * 10 + 6 * 40) / 144)


def test_a_day_of_ordinary_peaks_earns_its_whole_budget():
    night, noon = (Sums(alone=alone, minutes=10) for alone in (100.0, 300.0))
    outcomes = of_intervals((*[night] * 84, *[noon] * 60))
    state = Forecast(identity="load", lead_minutes=5, outcomes=outcomes)
    assert budget_of(state, 30.0).allowed == pytest.approx(0.3 * outcomes.day.alone)


@given(is_usual=hours, budget=st.sampled_from(BUDGETS))
@settings(max_examples=8, deadline=None)
def test_what_is_added_is_within_the_budget_of_24_hours(after_three_days, is_usual, budget):
    """Also if none of the replicas whose outcome is not known yet will be needed."""
    for spent in spent_by_minute(after_three_days, is_usual, budget):
        assert spent.used <= spent.allowed


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_batches_that_do_not_come_any_more_use_much_of_a_budget(after_three_days, budget):
    """So the test above has something to limit."""
    spent = list(spent_by_minute(after_three_days, [True, *[False] * 20], budget))
    assert max(each.used_share for each in spent) > 0.4
