"""What a wide query and own queries took is compared where both were measured under the same conditions."""

import pytest

from adapter.model import Cost
from adapter.wide.costs import MEASURED_TOGETHER_SECONDS, OWN_MEASURED_SECONDS, Costs


def costs(own_seconds=0.01, wide_seconds=0.01, *, own_at=0.0, wide_at=0.0, **samples):
    found = Costs()
    found.own_took(Cost(seconds=own_seconds, samples=samples.get("own")), own_at)
    found.wide_took(Cost(seconds=wide_seconds, samples=samples.get("wide")), wide_at)
    return found


@pytest.mark.parametrize(
    ("own_seconds", "wide_seconds", "replaced", "saved"),
    [
        pytest.param(0.001, 0.1, 2, True, id="any machine may be so slow for a moment"),
        pytest.param(0.001, 0.11, 2, False, id="slower, for two fast queries"),
        pytest.param(1.0, 2.0, 2, True, id="the time of two slow queries"),
        pytest.param(1.0, 2.2, 2, False, id="more than two slow queries take"),
        pytest.param(0.01, 0.29, 200, True, id="a tenth of 200 queries"),
        pytest.param(0.01, 0.31, 200, False, id="longer than a wave of 200 queries"),
    ],
)
def test_a_wide_query_may_take_as_long_as_a_wave_of_own_queries(
    own_seconds, wide_seconds, replaced, saved
):
    assert costs(own_seconds, wide_seconds).are_saved(replaced) is saved


@pytest.mark.parametrize(
    ("own", "wide", "saved"),
    [
        pytest.param(10, 10_100, True, id="as many samples, and 1,000 for each"),
        pytest.param(10, 10_101, False, id="more"),
        pytest.param(None, 10_101, True, id="those of own queries are not counted"),
        pytest.param(10, None, True, id="those of the wide query are not counted"),
    ],
)
def test_a_wide_query_may_read_as_many_samples_as_own_queries(own, wide, saved):
    assert costs(own=own, wide=wide).are_saved(10) is saved


@pytest.mark.parametrize("in_doubt", [True, False])
def test_a_slow_wide_query_is_not_compared_with_own_queries_of_another_time(in_doubt):
    """If Prometheus is slow now, own queries would be slower than they were, and there would be more of them."""
    now_seconds = MEASURED_TOGETHER_SECONDS + 1.0
    found = costs(0.01, 0.5, wide_at=now_seconds)
    assert found.are_saved(10, in_doubt=in_doubt) is in_doubt
    assert found.measures_own(10, now_seconds)
    found.own_took(Cost(seconds=0.3), now_seconds + 0.5)
    assert found.are_saved(10, in_doubt=in_doubt), "own queries are as slow"
    found.own_took(Cost(seconds=0.01), now_seconds + 1.0)
    assert not found.are_saved(10, in_doubt=in_doubt)


@pytest.mark.parametrize(
    ("wide_seconds", "bound_seconds"),
    [
        pytest.param(0.01, OWN_MEASURED_SECONDS, id="fast"),
        pytest.param(0.5, MEASURED_TOGETHER_SECONDS, id="slow"),
    ],
)
def test_own_queries_are_measured_by_one_request_at_a_time(wide_seconds, bound_seconds):
    found = costs(wide_seconds=wide_seconds)
    assert not found.measures_own(10, bound_seconds)
    assert found.measures_own(10, bound_seconds + 1.0)
    assert not found.measures_own(10, bound_seconds + 1.1)


def test_samples_that_are_too_many_need_no_other_measurement():
    found = costs(0.01, 0.5, own=10, wide=1_000_000, wide_at=1_000.0)
    assert not found.are_saved(10)


def test_a_shorter_time_of_an_own_query_counts_at_once_and_a_longer_one_slowly():
    found = costs(1.0)
    found.own_took(Cost(seconds=0.1), 1.0)
    assert found.wait_seconds(is_trusted=False) == pytest.approx(0.4)
    found.own_took(Cost(seconds=1.1), 2.0)
    assert found.wait_seconds(is_trusted=False) == pytest.approx(0.6)


def test_a_request_waits_as_long_as_the_wide_query_took_only_if_that_was_worth_it():
    found = costs(0.1, 1.0)
    assert found.wait_seconds(is_trusted=False) == pytest.approx(0.4)
    assert found.wait_seconds(is_trusted=True) == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        pytest.param(
            costs(0.02, 0.5, own=30, wide=700),
            "it took 0.500 s and 700 samples, and each of the 3 queries of single requests took 0.020 s and 30 samples",
            id="all is known",
        ),
        pytest.param(
            costs(0.02, 0.5),
            "it took 0.500 s, and each of the 3 queries of single requests took 0.020 s",
            id="no samples",
        ),
        pytest.param(
            Costs(),
            "it took 0.000 s, and each of the 3 queries of single requests took 0.000 s",
            id="nothing is known",
        ),
    ],
)
def test_the_explanation_has_the_costs_that_were_compared(found, sentence):
    assert found.sentence(3.4) == sentence
