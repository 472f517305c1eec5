"""The faults of the metrics API server."""

import pytest

from testbed import web
from testbed.certificates import Authority
from testbed.metrics_api_server import (
    CUSTOM,
    EXTERNAL,
    Fault,
    MetricsAPIServer,
    with_fault,
    with_nulls,
)

ITEM = {"metricName": "rps", "value": "5", "window": 60, "timestamp": "2026-01-01T00:00:00Z"}
DOCUMENT = {"kind": "MetricValueList", "metadata": {}, "items": [ITEM]}


def test_optional_fields_are_null_and_values_stay():
    found = with_nulls(DOCUMENT)
    assert found["metadata"] is None
    assert found["items"][0]["value"] == "5"
    assert found["items"][0]["window"] is found["items"][0]["timestamp"] is None


def test_unknown_fields_are_added_to_every_object():
    found = with_fault(DOCUMENT, Fault.UNKNOWN_FIELDS)
    assert set(found) > set(DOCUMENT)
    assert set(found["items"][0]) > set(ITEM)


def test_without_a_fault_the_document_is_unchanged():
    assert with_fault(DOCUMENT, None) == DOCUMENT


@pytest.fixture
def api(tmp_path):
    certificate = Authority("test").serving("metrics").write(tmp_path, "metrics")
    with MetricsAPIServer(*certificate) as running:
        yield running


def get(api: MetricsAPIServer, path: str) -> web.Response:
    response = web.get(api.port, path, tls=web.trusting(None))
    assert response is not None
    return response


def test_metrics_and_discovery_are_served(api):
    api.values["shop/queue"] = "7"
    api.pods["shop/rps"] = {"web-0": "3"}
    assert '"name":"pods/rps"' in get(api, f"/apis/{CUSTOM}/v1beta1").text
    assert '"name":"queue"' in get(api, f"/apis/{EXTERNAL}/v1beta1").text
    assert '"value":"7"' in get(api, f"/apis/{EXTERNAL}/v1beta1/namespaces/shop/queue").text
    rps = get(api, f"/apis/{CUSTOM}/v1beta1/namespaces/shop/pods/*/rps").text
    assert '"name":"web-0"' in rps
    assert '"value":"3"' in rps


def test_there_is_no_aggregated_discovery(api):
    assert get(api, "/apis").status == 404


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        pytest.param(Fault.UNAVAILABLE, 503, "unavailable", id="503"),
        pytest.param(Fault.NOT_JSON, 200, "<html>", id="HTML"),
        pytest.param(Fault.WRONG_KIND, 200, '"PodList"', id="another kind"),
    ],
)
def test_every_response_has_the_fault(api, fault, status, text):
    api.fault = fault
    response = get(api, f"/apis/{CUSTOM}/v1beta1")
    assert response.status == status
    assert text in response.text
