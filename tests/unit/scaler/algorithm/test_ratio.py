"""Usage against target: where integers cut, and where they overflow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.ratio import plain_usage, utilization
from scaler.algorithm.unusable import MetricUnusable
from tests.unit.scaler.objects import few_examples

amounts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 10**9), min_size=1)


def test_a_utilization_is_a_whole_percentage_before_it_is_a_ratio():
    usage = utilization({"a": 509}, {"a": 1000}, target_percent=50)
    assert (usage.utilization_percent, usage.ratio) == (50, 1.0)


def test_a_utilization_is_of_all_requests_together_not_a_mean_of_percentages():
    usage = utilization({"a": 900, "b": 100}, {"a": 1000, "b": 3000}, target_percent=50)
    assert (usage.utilization_percent, usage.average_milli) == (25, 500)


def test_a_sample_of_an_unlisted_pod_does_not_count_for_a_utilization():
    usage = utilization({"a": 500, "unlisted": 9_000}, {"a": 1000}, target_percent=50)
    assert (usage.utilization_percent, usage.average_milli) == (50, 500)


@pytest.mark.deviation("unlisted-pods-count")
def test_a_sample_of_an_unlisted_pod_counts_for_an_average():
    assert plain_usage({"a": 100, "unlisted": 300}, target_milli=100).ratio == 2.0


@pytest.mark.parametrize(
    "requests", [{"b": 1000}, {"a": 0}], ids=["none known", "nothing requested"]
)
def test_samples_without_any_request_are_unusable(requests):
    with pytest.raises(MetricUnusable, match="no metrics returned matched known pods"):
        utilization({"a": 500}, requests, target_percent=50)


def test_an_average_is_cut_towards_zero_before_the_ratio():
    assert plain_usage({"a": 3, "b": 4}, target_milli=3).ratio == 1.0
    assert plain_usage({"a": -3, "b": -4}, target_milli=3).average_milli == -3


@pytest.mark.deviation("utilization-overflow")
def test_a_utilization_of_92_terabytes_overflows_and_turns_negative():
    """92,233,720,368,547,759 bytes in thousandths times 100 pass the largest int64."""
    used = 92_233_720_368_547_759
    usage = utilization({"a": used}, {"a": used}, target_percent=50)
    assert usage.utilization_percent is not None
    assert usage.utilization_percent < 0


@few_examples
@given(samples=amounts, target=st.integers(1, 10**6))
def test_more_usage_never_lowers_the_ratio(samples, target):
    more = {name: amount + 1 for name, amount in samples.items()}
    lower = plain_usage(samples, target_milli=target)
    assert lower.ratio <= plain_usage(more, target_milli=target).ratio
