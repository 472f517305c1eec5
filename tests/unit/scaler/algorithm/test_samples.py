"""Answers of the metrics APIs as readings."""

import pytest

from scaler.algorithm.go_numbers import ZERO_TIME_UNIX_SECONDS
from scaler.algorithm.readings import (
    ExternalValues,
    MetricFailed,
    ObjectValue,
    PodSample,
    PodSamples,
)
from scaler.algorithm.samples import (
    CUSTOM_API,
    external_values,
    fetch_failed,
    joined,
    object_value,
    pod_samples,
    resource_samples,
)
from tests.unit.scaler.objects import NOW
from wire.api.custom_metrics import MetricIdentifier, MetricValue, MetricValueList
from wire.api.external_metrics import ExternalMetricValue, ExternalMetricValueList, decode
from wire.api.meta import ObjectMeta, ObjectReference, time_from_unix
from wire.api.resource_metrics import ContainerMetrics, PodMetrics, PodMetricsList


def usage(name, *containers):
    return PodMetrics(
        metadata=ObjectMeta(name=name),
        timestamp=time_from_unix(NOW),
        window="1m30s",
        containers=[ContainerMetrics(name=c, usage=u) for c, u in containers],
    )


SAMPLED = time_from_unix(NOW)


def metric_value(name, amount, *, window_seconds=None, timestamp=SAMPLED):
    return MetricValue(
        described_object=ObjectReference(name=name),
        metric=MetricIdentifier(name="m"),
        timestamp=timestamp,
        window_seconds=window_seconds,
        value=amount,
    )


def external_value(amount):
    return ExternalMetricValue(metric_name="m", metric_labels=None, timestamp=None, value=amount)


USAGES = PodMetricsList(
    items=[
        usage("whole", ("app", {"cpu": "250m", "memory": "1Mi"}), ("proxy", {"cpu": "1500u"})),
        usage("partly", ("app", {"cpu": "100m"}), ("proxy", {"memory": "1Mi"})),
        usage("empty"),
    ]
)


def by_pod(reading):
    assert isinstance(reading, PodSamples)
    return {name: each.value_milli for name, each in reading.by_pod.items()}


def test_a_pod_uses_what_all_its_containers_use_each_rounded_up():
    assert by_pod(resource_samples(USAGES, resource="cpu")) == {"whole": 252}


def test_a_pod_whose_container_reports_nothing_has_no_sample():
    assert by_pod(resource_samples(USAGES, resource="memory")) == {}


@pytest.mark.parametrize(
    ("container", "found"),
    [("app", {"whole": 250, "partly": 100}), ("proxy", {"whole": 2}), ("none", {})],
)
def test_only_the_named_container_counts(container, found):
    assert by_pod(resource_samples(USAGES, resource="cpu", container=container)) == found


def test_a_sample_keeps_its_time_and_its_window():
    reading = resource_samples(USAGES, resource="cpu")
    assert isinstance(reading, PodSamples)
    assert reading.by_pod["whole"] == PodSample(
        value_milli=252, sampled_at_unix_seconds=NOW, window_seconds=90.0
    )


def test_a_pods_metric_is_kept_by_name_and_the_later_duplicate_wins():
    answer = MetricValueList(items=[metric_value("a", "1"), metric_value("a", "2")])
    assert by_pod(pod_samples(answer)) == {"a": 2000}


def test_a_pods_metric_without_time_and_window_has_go_zero_time_and_a_minute():
    reading = pod_samples(MetricValueList(items=[metric_value("a", "1", timestamp=None)]))
    assert reading == PodSamples(
        {
            "a": PodSample(
                value_milli=1000,
                sampled_at_unix_seconds=ZERO_TIME_UNIX_SECONDS,
                window_seconds=60.0,
            )
        }
    )


def test_an_object_metric_is_exactly_one_value():
    assert object_value(MetricValueList(items=[metric_value("a", "1500u")])) == ObjectValue(2)
    assert object_value(MetricValueList(items=[])) == MetricFailed(
        "unable to fetch metrics from custom metrics API: "
        "the custom metrics API server returned 0 results when we asked for exactly one"
    )


@pytest.mark.deviation("quantities-past-int64")
def test_external_values_keep_their_order_and_wrap_as_upstream():
    answer = ExternalMetricValueList(items=[external_value("-1"), external_value("10P")])
    assert external_values(answer) == ExternalValues((-1000, 0))


@pytest.mark.parametrize(
    ("value", "value_milli"), [("5", 5000), ("2.5", 2500), ("1e3", 1_000_000), ('" 5 "', 5000)]
)
def test_a_value_is_read_as_upstream_reads_json(value, value_milli):
    """As printed by a program with k8s.io/metrics v0.37.2."""
    answer = decode(b'{"items":[{"metricName":"q","value":%s}]}' % value.encode())
    assert external_values(answer) == ExternalValues((value_milli,))


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        pytest.param(
            resource_samples(PodMetricsList(items=[]), resource="cpu"),
            "no metrics returned from resource metrics API",
            id="resource",
        ),
        pytest.param(
            pod_samples(MetricValueList(items=[])),
            "no metrics returned from custom metrics API",
            id="custom",
        ),
        pytest.param(
            external_values(ExternalMetricValueList(items=[])),
            "no metrics returned from external metrics API",
            id="external",
        ),
        pytest.param(
            fetch_failed(CUSTOM_API, "down"),
            "unable to fetch metrics from custom metrics API: down",
            id="not answered at all",
        ),
    ],
)
def test_an_answer_without_items_is_a_failure(reading, message):
    assert reading == MetricFailed(message)


def test_a_value_that_is_not_a_quantity_is_a_failure_not_zero():
    reading = external_values(ExternalMetricValueList(items=[external_value("NaN")]))
    assert isinstance(reading, MetricFailed)
    assert reading.message.startswith("unable to fetch metrics from external metrics API: ")


FAILED = MetricFailed("unable to get metric")
OF_PODS = tuple(PodSamples({name: PodSample(value_milli=1)}) for name in "ab")


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        pytest.param([ExternalValues((1,)), ExternalValues((2, 3))], ExternalValues((1, 2, 3)), id="external"),
        pytest.param(OF_PODS, PodSamples({**OF_PODS[0].by_pod, **OF_PODS[1].by_pod}), id="pods"),
        pytest.param([ObjectValue(1)], ObjectValue(1), id="one"),
        pytest.param([ExternalValues((1,)), FAILED], FAILED, id="one failed"),
    ],
)  # fmt: skip
def test_the_parts_of_a_response_are_one_reading(parts, whole):
    assert joined(parts) == whole
