"""Each metric gets exactly one signal, and a formula never meets a value of another form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import ExternalValues, MetricFailed, ObjectValue, PodSamples
from scaler.algorithm.signal import signal
from scaler.api.autoscaler import MetricSpec
from tests.unit.scaler.objects import (
    average,
    external,
    of_object,
    of_pods,
    resource,
    utilization,
)

DOWN = MetricFailed("down")
METRICS = (
    external(average("1")),
    of_object(average("1")),
    of_pods(average("1")),
    resource(utilization(50)),
)
FITTING = (ExternalValues((1,)), ObjectValue(1), PodSamples({}), PodSamples({}))
readings = st.sampled_from([*FITTING, DOWN])


def test_fitting_readings_and_failures_pass():
    assert [each.reading for each in signal(METRICS, FITTING)] == list(FITTING)
    assert [each.reading for each in signal(METRICS, (DOWN,) * 4)] == [DOWN] * 4


@given(measured=st.lists(readings, max_size=4))
def test_every_metric_has_a_value_of_its_form_or_a_failure(measured):
    signals = signal(METRICS, measured)
    assert [each.metric for each in signals] == list(METRICS)
    for each, fitting in zip(signals, FITTING, strict=True):
        assert isinstance(each.reading, (type(fitting), MetricFailed))


def test_a_metric_that_was_not_measured_is_a_failure():
    assert [each.reading for each in signal(METRICS[:2], FITTING[:1])] == [
        FITTING[0],
        MetricFailed("it was not measured"),
    ]


def test_a_value_of_another_form_names_both():
    [only] = signal(METRICS[:1], (ObjectValue(1),))
    assert only.reading == MetricFailed("expected ExternalValues, got ObjectValue")


def test_a_metric_of_an_unknown_type_is_left_to_its_formula():
    [only] = signal((MetricSpec(type="Cheddar"),), (ObjectValue(1),))
    assert only.reading == ObjectValue(1)


def test_more_readings_than_metrics_are_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="2 readings for 1 metrics"):
        signal(METRICS[:1], FITTING[:2])
