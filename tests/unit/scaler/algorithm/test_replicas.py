"""The formulas, and the traps in them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.derivation import PodGroups, Tolerances
from scaler.algorithm.go_numbers import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from scaler.algorithm.ratio import plain_usage
from scaler.algorithm.replicas import (
    COUNT_AGAINST_DIRECTION,
    DIRECTION_CHANGED,
    WITHIN_TOLERANCE,
    WITHIN_TOLERANCE_AFTER_FILL_IN,
    counted_samples,
    external_sum,
    external_sum_for_average,
    replicas_for_external_average,
    replicas_for_object_average,
    replicas_for_value,
    replicas_per_pod,
)
from scaler.algorithm.unusable import MetricUnusable
from tests.unit.scaler.objects import few_examples, sample

TOLERANCES = Tolerances(scale_down=0.1, scale_up=0.1)
TARGET_MILLI = 100


def per_pod(samples, *, current, missing=(), unready=(), tolerances=TOLERANCES):
    """A plain metric with a target of 100 for pods that are ready when they have a sample."""
    ready = tuple(name for name in samples if not name.startswith("unlisted"))
    return replicas_per_pod(
        samples,
        PodGroups(ready=ready, missing=tuple(missing), unready=tuple(unready)),
        current=current,
        tolerances=tolerances,
        measure=lambda filled: plain_usage(filled, target_milli=TARGET_MILLI),
        missing_on_scale_down=lambda _: TARGET_MILLI,
    )


def each(count, value_milli):
    return {f"web-{index}": value_milli for index in range(count)}


@pytest.mark.parametrize(
    ("usage_ratio", "is_within"),
    [
        pytest.param(1.1, True, id="the upper edge is inside"),
        pytest.param(0.9, True, id="the lower edge is inside"),
        pytest.param(1.1001, False, id="just above"),
        pytest.param(0.8999, False, id="just below"),
        pytest.param(math.nan, False, id="not a number"),
        pytest.param(math.inf, False, id="infinite"),
    ],
)
def test_the_band_of_tolerance_includes_its_edges(usage_ratio, is_within):
    assert TOLERANCES.is_within(usage_ratio) is is_within


@pytest.mark.deviation("no-check-of-direction", "uncapped-overflow", "unlisted-pods-count")
@pytest.mark.parametrize(
    ("samples", "current", "replicas"),
    [
        pytest.param(each(4, 110), 4, 4, id="at the edge of the tolerance"),
        pytest.param(each(4, 111), 4, 5, id="just past the edge, rounded up"),
        pytest.param(each(4, 50), 4, 2, id="half the load"),
        pytest.param(each(4, 0), 4, 0, id="no load"),
        pytest.param(each(3, 150), 10, 5, id="3 ready of 10 at 1.5: no check of direction"),
        pytest.param(each(6, 90), 4, 4, id="surge pods within the tolerance"),
        pytest.param(each(6, 80), 4, 5, id="surge pods push up on low usage"),
        pytest.param(
            {**each(2, 100), "unlisted": 400}, 2, 4, id="the sample of an unlisted pod counts"
        ),
        pytest.param(each(2, 10**14), 2, INT32_MIN, id="past the int32: the smallest of all"),
    ],
)
def test_ready_pods_are_resized_by_the_ratio(samples, current, replicas):
    assert per_pod(samples, current=current).replicas == replicas


@pytest.mark.parametrize(
    ("samples", "missing", "unready", "current", "replicas", "kept"),
    [
        pytest.param(
            each(2, 20), ["m"], [], 3, 2, "", id="down: missing at the target"
        ),
        pytest.param(
            each(2, 300), ["m", "n"], [], 4, 6, "", id="up: missing at zero"
        ),
        pytest.param(
            each(2, 150), ["m"], [], 3, 3, WITHIN_TOLERANCE_AFTER_FILL_IN, id="up no more"
        ),
        pytest.param(
            each(1, 120), ["m"], [], 2, 2, DIRECTION_CHANGED, id="up would become down"
        ),
        pytest.param(
            each(2, 100), ["m"], [], 3, 3, WITHIN_TOLERANCE_AFTER_FILL_IN, id="exactly 1 fills nothing"
        ),
        pytest.param(
            each(2, 200), [], ["u"], 3, 4, "", id="up: unready at zero"
        ),
        pytest.param(
            each(2, 20), [], ["u"], 3, 1, "", id="down: unready do not count at all"
        ),
        pytest.param(
            each(2, 95), [], ["u", "v"], 4, 4, WITHIN_TOLERANCE, id="down: unready are not filled in"
        ),
        pytest.param(
            each(2, 20), ["m"], ["u"], 4, 2, "", id="down: missing filled in, unready dropped"
        ),
        pytest.param(
            each(3, 200), ["m"], [], 20, 20, COUNT_AGAINST_DIRECTION, id="up, but to fewer"
        ),
        pytest.param(
            each(4, 50), ["m"], [], 2, 2, COUNT_AGAINST_DIRECTION, id="down, but to more"
        ),
        pytest.param(
            {**each(2, 300), "unlisted": 300}, ["m"], [], 3, 9, "", id="an unlisted pod counts twice"
        ),
    ],
)  # fmt: skip
def test_pods_without_a_value_dampen_the_change(samples, missing, unready, current, replicas, kept):
    proposed = per_pod(samples, current=current, missing=missing, unready=unready)
    assert (proposed.replicas, proposed.kept) == (replicas, kept)


def test_the_status_shows_the_first_pass():
    proposed = per_pod(each(2, 300), current=4, missing=["m", "n"])
    assert proposed.usage.average_milli == 300
    assert proposed.fill_in is not None
    assert proposed.fill_in.usage_ratio == 1.5


def test_nothing_left_after_dropping_unready_pods_is_unusable():
    groups = PodGroups(unready=("a",), ignored=("b",))
    with pytest.raises(MetricUnusable, match="pods might be unready"):
        counted_samples({"a": sample(1), "b": sample(1)}, groups)


def value_of(value_milli, *, current, ready=None):
    return replicas_for_value(
        value_milli,
        target_milli=TARGET_MILLI,
        current=current,
        tolerances=TOLERANCES,
        count_ready=lambda: current if ready is None else ready,
    )


@pytest.mark.deviation("uncapped-overflow")
@pytest.mark.parametrize(
    ("value_milli", "current", "ready", "replicas"),
    [
        pytest.param(110, 3, 3, 3, id="within the tolerance"),
        pytest.param(200, 3, 3, 6, id="double"),
        pytest.param(195, 3, 1, 2, id="1 ready of 3 at 1.95: fewer, no check of direction"),
        pytest.param(INT64_MAX, 3, 3, INT32_MAX, id="capped"),
        pytest.param(-200, 3, 3, -6, id="negative"),
        pytest.param(105, 0, 0, 2, id="from zero there is no tolerance"),
        pytest.param(0, 0, 0, 0, id="zero at zero"),
        pytest.param(INT64_MAX, 0, 0, INT32_MIN, id="from zero there is no cap"),
    ],
)
def test_a_value_resizes_the_ready_pods(value_milli, current, ready, replicas):
    assert value_of(value_milli, current=current, ready=ready).replicas == replicas


def test_ready_pods_are_counted_only_outside_the_tolerance():
    def never():
        raise AssertionError("read")

    kept = replicas_for_value(
        100, target_milli=100, current=3, tolerances=TOLERANCES, count_ready=never
    )
    assert kept.kept == WITHIN_TOLERANCE


@pytest.mark.deviation("average-of-no-replicas", "uncapped-overflow")
@pytest.mark.parametrize(
    ("formula", "value_milli", "status_replicas", "replicas", "reported_milli"),
    [
        pytest.param(replicas_for_object_average, 800, 8, 8, 100, id="kept: the status' count"),
        pytest.param(replicas_for_object_average, 1001, 5, 11, 201, id="shared out, rounded up"),
        pytest.param(replicas_for_object_average, 500, 0, 5, INT64_MIN, id="status 0: no average"),
        pytest.param(replicas_for_object_average, 0, 0, INT32_MIN + 2**31, INT64_MIN, id="0 of 0"),
        pytest.param(
            replicas_for_object_average, INT64_MAX, 1, INT32_MIN, INT64_MIN, id="an object is not capped"
        ),
        pytest.param(replicas_for_external_average, 800, 8, 8, 100, id="external, kept"),
        pytest.param(replicas_for_external_average, 1001, 5, 11, 201, id="external, shared out"),
        pytest.param(
            replicas_for_external_average, INT64_MAX, 2, INT32_MAX, INT64_MAX, id="external, capped"
        ),
        pytest.param(replicas_for_external_average, 500, 0, 5, INT64_MIN, id="external, status 0"),
    ],
)  # fmt: skip
def test_an_average_shares_the_value_out(
    formula, value_milli, status_replicas, replicas, reported_milli
):
    shared = formula(
        value_milli,
        target_milli=TARGET_MILLI,
        status_replicas=status_replicas,
        tolerances=TOLERANCES,
    )
    assert (shared.replicas, shared.reported_milli) == (replicas, reported_milli)
    is_kept = replicas == status_replicas == 8
    assert shared.kept == (WITHIN_TOLERANCE if is_kept else "")


@pytest.mark.deviation("negative-external-sum")
@pytest.mark.parametrize(
    ("values", "for_value", "for_average"),
    [
        pytest.param((1, 2, 3), 6, 6, id="plain"),
        pytest.param((INT64_MAX, 1, -5), INT64_MAX, INT64_MAX, id="too large stops there"),
        pytest.param((-5,), -5, INT64_MAX, id="negative: an average takes it for an overflow"),
        pytest.param((-5, 10), 5, INT64_MAX, id="negative first"),
        pytest.param((10, -5), 5, 5, id="negative last: the order matters"),
    ],
)
def test_external_values_are_summed_in_two_ways(values, for_value, for_average):
    assert (external_sum(values), external_sum_for_average(values)) == (for_value, for_average)


loads = st.integers(0, 10_000)


@few_examples
@given(count=st.integers(1, 20), lower=loads, more=loads, current=st.integers(1, 40))
def test_more_load_never_proposes_fewer_when_all_pods_are_ready_and_counted(
    count, lower, more, current
):
    """Monotone where the count is that of the pods: the tolerance then jumps over nothing."""
    less = per_pod(each(count, lower), current=count)
    greater = per_pod(each(count, lower + more), current=count)
    assert less.replicas <= greater.replicas


@few_examples
@given(value=loads, more=loads, status_replicas=st.integers(1, 40))
def test_a_greater_value_never_proposes_fewer(value, more, status_replicas):
    def proposal(value_milli):
        return replicas_for_external_average(
            value_milli,
            target_milli=TARGET_MILLI,
            status_replicas=status_replicas,
            tolerances=TOLERANCES,
        ).replicas

    assert proposal(value) <= proposal(value + more)


@few_examples
@given(
    samples=st.dictionaries(st.sampled_from("abcdef"), loads, min_size=1),
    missing=st.sets(st.sampled_from("uvw")),
    unready=st.sets(st.sampled_from("xyz")),
    current=st.integers(1, 30),
)
def test_a_fill_in_never_reverses_the_direction(samples, missing, unready, current):
    proposed = per_pod(samples, current=current, missing=missing, unready=unready)
    if proposed.fill_in is None:
        return
    if proposed.usage.ratio > 1.0:
        assert proposed.replicas >= current
    if proposed.usage.ratio < 1.0:
        assert proposed.replicas <= current
