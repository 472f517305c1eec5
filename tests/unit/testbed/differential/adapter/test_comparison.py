"""The comparison: every key counts, and nothing but the clock and the peer's own chance is excused."""

import json

import pytest

from testbed.differential.adapter.comparison import differences, seen
from testbed.differential.adapter.sides import Answer

NOW, MOMENT = 1_800_000_000.0, 1_799_999_000.0
AT_NOW, AT_MOMENT = "2027-01-15T08:00:00Z", "2027-01-15T07:43:20Z"


def looked(document, *, status=200, content_type="application/json"):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    answer = Answer(status=status, content_type=content_type, body=body)
    return seen(answer, now_seconds=NOW, moment_seconds=MOMENT)


def value_list(**item):
    return {"kind": "MetricValueList", "items": [{"value": "1", "timestamp": AT_NOW, **item}]}


@pytest.mark.parametrize(
    ("ours", "where"),
    [
        pytest.param(value_list(value="2"), "body.items[0].value: '1', '2'", id="another value"),
        pytest.param(value_list(value=1), "body.items[0].value: '1', 1", id="another type"),
        pytest.param(value_list(more=1), "body.items[0].more: (absent), 1", id="a key too many"),
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
def test_every_key_of_the_body_counts(ours, where):
    assert differences(looked(value_list()), looked(ours)) == [where]


def test_status_and_media_type_count():
    ours = looked(value_list(), status=201, content_type="application/json;charset=utf-8")
    assert differences(looked(value_list()), ours) == [
        "status: 200, 201",
        "content type: application/json, application/json;charset=utf-8",
    ]


def test_a_list_of_values_in_another_order_is_another_list():
    items = value_list()["items"] + value_list(value="2")["items"]
    one = {"kind": "MetricValueList", "items": items}
    other = {"kind": "MetricValueList", "items": items[::-1]}
    assert differences(looked(one), looked(other))


def test_the_time_of_the_answer_may_differ_by_seconds():
    later = value_list(timestamp="2027-01-15T08:00:04Z")
    assert not differences(looked(value_list()), looked(later))


def test_the_time_of_the_evaluation_is_told_apart_from_the_time_of_the_answer():
    ours = looked(value_list(timestamp=AT_MOMENT))
    assert not differences(looked(value_list()), ours)
    assert ours.evaluated_timestamps
    assert not looked(value_list()).evaluated_timestamps


def test_the_order_that_the_peer_leaves_to_chance_is_no_difference():
    names = ["pods/a", "pods/b"]
    resources = [{"name": name, "namespaced": True} for name in names]
    one = {"kind": "APIResourceList", "resources": resources}
    other = {"kind": "APIResourceList", "resources": resources[::-1]}
    assert not differences(looked(one), looked(other))


def test_yaml_is_compared_as_the_document_it_is():
    text = b"items:\n- timestamp: '2027-01-15T08:00:00Z'\n  value: '1'\nkind: MetricValueList\n"
    same = looked(text, content_type="application/yaml")
    assert differences(looked(value_list()), same) == [
        "content type: application/json, application/yaml"
    ]


def test_malformed_json_is_seen():
    assert differences(looked(value_list()), looked(b"{"))
