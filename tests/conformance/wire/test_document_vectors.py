"""Documents against the Go types' own JSON: the same names, the same order, the same things left out."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from wire.api import custom_metrics, external_metrics, resource_metrics, status
from wire.api.meta import ObjectMeta, ObjectReference


class Row(msgspec.Struct):
    name: str
    json: str


class Wrapped(msgspec.Struct):
    metadata: ObjectMeta


TYPES: dict[str, Any] = {
    "custom v1beta2": custom_metrics.MetricValueList,
    "custom v1beta2, empty": custom_metrics.MetricValueList,
    "custom v1beta1": custom_metrics.MetricValueListV1beta1,
    "external": external_metrics.ExternalMetricValueList,
    "pods": resource_metrics.PodMetricsList,
    "pod": resource_metrics.PodMetrics,
    "nodes": resource_metrics.NodeMetricsList,
    "bad request": status.Status,
    "internal error": status.Status,
    "unavailable": status.Status,
    "object": Wrapped,
}


@pytest.fixture
def document(rows):
    documents = {row.name: row.json.encode() for row in rows("documents.jsonl", Row)}
    return documents.__getitem__


@pytest.mark.parametrize("name", TYPES)
def test_a_document_of_the_go_types_is_encoded_byte_for_byte(document, name):
    assert msgspec.json.encode(msgspec.json.decode(document(name), type=TYPES[name])) == document(
        name
    )


def test_both_versions_of_custom_metrics_have_the_same_content(document):
    newer = custom_metrics.decode(document("custom v1beta2"))
    older = custom_metrics.decode(document("custom v1beta1"))
    assert older == newer
    assert msgspec.json.encode(custom_metrics.to_v1beta1(newer)) == document("custom v1beta1")


def test_a_decoded_document_has_the_values_of_go(document):
    value = custom_metrics.decode(document("custom v1beta2")).items[0]
    assert value.described_object == ObjectReference(
        kind="Pod", namespace="default", name="web-0", api_version="/v1"
    )
    assert value.timestamp == datetime(2026, 11, 21, 12, 34, 56, tzinfo=UTC)
    assert (value.window_seconds, value.value, value.metric.name) == (60, "1500m", "requests")


def test_a_nil_slice_of_go_is_an_empty_list(document):
    assert custom_metrics.decode(document("custom v1beta2, null")).items == []
    assert external_metrics.decode(document("external, null")).items == []


@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param("bad request", status.bad_request("no"), id="bad request"),
        pytest.param("internal error", status.internal_error("boom"), id="internal error"),
        pytest.param("unavailable", status.service_unavailable("later"), id="unavailable"),
    ],
)
def test_errors_are_encoded_as_upstreams(document, name, error):
    assert msgspec.json.encode(error.to_status()) == document(name)


def test_an_error_survives_a_response(document):
    error = status.from_response(500, document("internal error"))
    assert msgspec.json.encode(error.to_status()) == document("internal error")
