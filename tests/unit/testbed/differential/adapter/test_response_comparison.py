"""Every key is compared; only the current time and prometheus-adapter's random order may differ."""

import json

import pytest

from testbed.differential.adapter.adapter_instances import Response
from testbed.differential.adapter.response_comparison import comparable, differences

NOW, MOMENT = 1_800_000_000.0, 1_799_999_000.0
AT_NOW, AT_MOMENT = "2027-01-15T08:00:00Z", "2027-01-15T07:43:20Z"


def comparable_of(document, *, status=200, content_type="application/json"):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    response = Response(status=status, content_type=content_type, body=body)
    return comparable(response, now_seconds=NOW, moment_seconds=MOMENT)


def value_list(**item):
    return {"kind": "MetricValueList", "items": [{"value": "1", "timestamp": AT_NOW, **item}]}


@pytest.mark.parametrize(
    ("loadline", "where"),
    [
        pytest.param(value_list(value="2"), "body.items[0].value: '1', '2'", id="another value"),
        pytest.param(value_list(value=1), "body.items[0].value: '1', 1", id="another type"),
        pytest.param(value_list(more=1), "body.items[0].more: (absent), 1", id="an additional key"),
        pytest.param(
            value_list(timestamp="2027-01-15T07:00:00Z"),
            "body.items[0].timestamp: '<now>', '2027-01-15T07:00:00Z'",
            id="another time",
        ),
        pytest.param(
            {"kind": "MetricValueList", "items": []}, "body.items: 1 items, 0 items", id="no item"
        ),
    ],
)
def test_every_key_of_the_body_counts(loadline, where):
    assert differences(comparable_of(value_list()), comparable_of(loadline)) == [where]


def test_status_and_media_type_count():
    loadline = comparable_of(
        value_list(), status=201, content_type="application/json;charset=utf-8"
    )
    assert differences(comparable_of(value_list()), loadline) == [
        "status: 200, 201",
        "content type: application/json, application/json;charset=utf-8",
    ]


def test_a_value_list_in_another_order_is_different():
    items = value_list()["items"] + value_list(value="2")["items"]
    one = {"kind": "MetricValueList", "items": items}
    other = {"kind": "MetricValueList", "items": items[::-1]}
    assert differences(comparable_of(one), comparable_of(other))


def test_the_current_time_may_differ_by_seconds():
    later = value_list(timestamp="2027-01-15T08:00:04Z")
    assert not differences(comparable_of(value_list()), comparable_of(later))


def test_the_time_of_the_evaluation_is_distinguished_from_the_current_time():
    loadline = comparable_of(value_list(timestamp=AT_MOMENT))
    assert not differences(comparable_of(value_list()), loadline)
    assert loadline.evaluated_timestamps
    assert not comparable_of(value_list()).evaluated_timestamps


def test_an_order_that_is_random_in_prometheus_adapter_is_ignored():
    names = ["pods/a", "pods/b"]
    resources = [{"name": name, "namespaced": True} for name in names]
    one = {"kind": "APIResourceList", "resources": resources}
    other = {"kind": "APIResourceList", "resources": resources[::-1]}
    assert not differences(comparable_of(one), comparable_of(other))


def test_yaml_is_compared_as_a_document():
    text = b"items:\n- timestamp: '2027-01-15T08:00:00Z'\n  value: '1'\nkind: MetricValueList\n"
    same = comparable_of(text, content_type="application/yaml")
    assert differences(comparable_of(value_list()), same) == [
        "content type: application/json, application/yaml"
    ]


def test_malformed_json_is_a_difference():
    assert differences(comparable_of(value_list()), comparable_of(b"{"))
