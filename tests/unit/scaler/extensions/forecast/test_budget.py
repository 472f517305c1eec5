"""The budget of a forecast, on random loads."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.extensions.forecast.budget import budget_of
from tests.unit.scaler.extensions.forecast.loads import DAY, learned, states

FIRST = 3 * DAY + 30
BUDGETS = [1.0, 3.0, 10.0, 30.0]
# Whether an hour has its batch, from the fourth day on.
hours = st.lists(st.booleans(), min_size=8, max_size=36)


def each_hour(minute):
    """A batch of ten minutes."""
    return 500.0 if minute % 60 >= 50 else 100.0


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


@given(is_usual=hours, budget=st.sampled_from(BUDGETS))
@settings(max_examples=12, deadline=None)
def test_what_is_added_is_within_the_budget_of_24_hours(after_three_days, is_usual, budget):
    """Also if none of the replicas whose outcome is not known yet will be needed."""
    for spent in spent_by_minute(after_three_days, is_usual, budget):
        assert spent.used <= spent.allowed


@pytest.mark.parametrize("budget", [1.0, 3.0, 30.0], ids=str)
def test_batches_that_do_not_come_any_more_use_much_of_a_budget(after_three_days, budget):
    """So the test above has something to limit."""
    spent = list(spent_by_minute(after_three_days, [True, *[False] * 20], budget))
    assert max(each.used_share for each in spent) > 0.5
