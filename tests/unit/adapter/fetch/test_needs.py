"""When a plan is needed next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.fetch.needs import Needs


def needs_at(*times, freshness_seconds=1.0, duration_seconds=0.05):
    needs = Needs(freshness_seconds=freshness_seconds)
    needs.duration_seconds = duration_seconds
    for at in times:
        needs.requested(at)
    return needs


@pytest.mark.parametrize(
    ("times", "refresh_at"),
    [
        pytest.param((0.0, 15.0, 30.0), 44.7, id="every 15 s"),
        pytest.param((0.0, 15.2, 30.1), 44.7, id="not exactly"),
        pytest.param((0.0, 0.5, 15.0, 15.9, 30.0, 30.2), 44.7, id="several requests in a second"),
        pytest.param((0.0, 15.0), None, id="one interval"),
        pytest.param((0.0, 15.0, 40.0), None, id="irregular"),
        pytest.param((0.0, 400.0, 800.0), None, id="too rare"),
        pytest.param((0.0, 1.01, 2.02), 2.97, id="all the time"),
    ],
)
def test_a_plan_is_refreshed_before_it_is_needed_again(times, refresh_at):
    found = needs_at(*times).refresh_at(sent_at=times[-1])
    assert found == (None if refresh_at is None else pytest.approx(refresh_at, abs=0.11))


@given(
    times=st.lists(st.floats(0, 1e6), min_size=1, max_size=20).map(sorted),
    duration_seconds=st.floats(0, 30),
    freshness_seconds=st.floats(0.01, 60),
)
def test_a_refresh_is_in_the_future_and_still_fresh_when_the_period_repeats(
    times, duration_seconds, freshness_seconds
):
    needs = needs_at(*times, freshness_seconds=freshness_seconds, duration_seconds=duration_seconds)
    needs_now = needs._times[-1]
    at = needs.refresh_at(sent_at=needs_now)
    if at is not None:
        assert at > needs_now
        assert needs_now + needs.period_seconds - at < freshness_seconds
