"""The JSON of an autoscaler is that of k8s.io/api/autoscaling/v2."""

import msgspec
import pytest

from scaler.api.autoscaler import (
    DEFAULT_METRICS,
    Autoscaler,
    AutoscalerStatus,
    MetricStatus,
    metrics_of,
)
from tests.unit.scaler.objects import spec

WHOLE = (
    b'{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",'
    b'"metadata":{"name":"web","namespace":"shop"},'
    b'"spec":{"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},'
    b'"minReplicas":2,"maxReplicas":10,'
    b'"metrics":[{"type":"External","external":{"metric":{"name":"queue","selector":{}},'
    b'"target":{"type":"AverageValue","averageValue":"30"}}}],'
    b'"behavior":{"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max",'
    b'"policies":[{"type":"Pods","value":4,"periodSeconds":15}],"tolerance":"50m"}}},'
    b'"status":{"lastScaleTime":"2026-01-01T00:00:00Z","currentReplicas":3,"desiredReplicas":3,'
    b'"currentMetrics":[{"type":"External","external":{"metric":{"name":"queue","selector":{}},'
    b'"current":{"averageValue":"31"}}}],'
    b'"conditions":[{"type":"AbleToScale","status":"True",'
    b'"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"}]}}'
)


def test_an_autoscaler_is_written_as_it_was_read():
    assert msgspec.json.encode(msgspec.json.decode(WHOLE, type=Autoscaler)) == WHOLE


def test_a_status_names_its_replicas_and_metrics_even_when_there_are_none():
    assert msgspec.json.encode(AutoscalerStatus()) == b'{"desiredReplicas":0,"currentMetrics":[]}'


def test_a_failed_metric_leaves_an_empty_type():
    assert msgspec.json.encode(MetricStatus(type="")) == b'{"type":""}'


@pytest.mark.parametrize("status", [b"{}", b'{"currentMetrics":null}'])
def test_a_status_may_be_empty_or_have_a_null_list(status):
    read = msgspec.json.decode(status, type=AutoscalerStatus)
    assert not read.current_metrics


@pytest.mark.parametrize("quantity", [b'"1500m"', b"1.5", b"2"])
def test_a_quantity_of_a_custom_resource_may_be_a_number(quantity):
    body = WHOLE.replace(b'"30"', quantity)
    assert quantity in msgspec.json.encode(msgspec.json.decode(body, type=Autoscaler))


def test_a_metric_type_of_the_future_does_not_break_the_object():
    body = WHOLE.replace(b'"type":"External","external"', b'"type":"Dream","dream"')
    read = msgspec.json.decode(body, type=Autoscaler)
    assert read.spec.metrics is not None
    assert read.spec.metrics[0].type == "Dream"


@pytest.mark.deviation("default-metrics")
def test_no_metrics_mean_the_default_metric_of_the_api():
    of = spec()
    assert metrics_of(of) == of.metrics
    bare = type(of)(scale_target_ref=of.scale_target_ref, max_replicas=3, metrics=())
    assert metrics_of(bare) == DEFAULT_METRICS
