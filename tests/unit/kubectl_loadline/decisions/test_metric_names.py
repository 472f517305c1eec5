"""Metrics are written as in PromQL where the HPA prints a Go struct."""

import json

import pytest

from kubectl_loadline.decisions.metric_names import in_prometheus_words
from kubectl_loadline.program import main
from tests.unit.kubectl_loadline.api_server import LAS, autoscaler, collection, within
from wire.api.meta import LabelSelector, LabelSelectorRequirement, go_string


def requirement(key, operator, *values):
    return LabelSelectorRequirement(key=key, operator=operator, values=list(values))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(None, "queue", id="none"),
        pytest.param(LabelSelector(), "queue", id="an empty one"),
        pytest.param(LabelSelector(match_labels={"queue": "mail"}), 'queue{queue="mail"}', id="a label"),
        pytest.param(
            LabelSelector(match_labels={"b": "", "a": "x.y_z-1"}), 'queue{a="x.y_z-1",b=""}', id="two"
        ),
        pytest.param(
            LabelSelector(match_labels={"app.kubernetes.io/name": "web"}),
            'queue{"app.kubernetes.io/name"="web"}',
            id="no identifier of PromQL",
        ),
        pytest.param(
            LabelSelector(
                match_labels={"a": "1"},
                match_expressions=[
                    requirement("b", "In", "x", "y.z"),
                    requirement("c", "NotIn", "x"),
                    requirement("d", "Exists"),
                    requirement("e", "DoesNotExist"),
                ],
            ),
            r'queue{a="1",b=~"x|y\\.z",c!~"x",d!="",e=""}',
            id="every operator",
        ),
    ],
)  # fmt: skip
def test_a_selector_is_written_as_label_matchers(selector, expected):
    text = f"external metric queue({go_string(selector)}) proposes 4"
    assert in_prometheus_words(text) == f"external metric {expected} proposes 4"


def test_a_selector_in_the_path_of_a_failure_is_written_as_label_matchers():
    path = f"shop/queue/{go_string(LabelSelector(match_labels={'queue': 'mail'}))}"
    found = in_prometheus_words(f"unable to get external metric {path}: no rows")
    assert found == 'unable to get external metric shop/queue{queue="mail"}: no rows'


def test_other_parentheses_stay():
    text = "It keeps 4 replicas (WithinTolerance), nil (nil) and f(x)."
    assert in_prometheus_words(text) == text


def test_status_shows_label_matchers(api_server, capsys):
    found = autoscaler("web")
    name = f"queue_length({go_string(LabelSelector(match_labels={'queue': 'mail'}))})"
    found["status"]["decision"] = {"summary": f"stays at 4 replicas: external metric {name} proposes 4"}  # fmt: skip
    api_server.documents[within(LAS, "shop")] = collection(found)
    assert main(["status"]) == 0
    assert 'external metric queue_length{queue="mail"} proposes 4' in capsys.readouterr().out
    assert main(["status", "-o", "json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["autoscalers"]
    assert 'queue_length{queue="mail"}' in row["reason"]


def test_why_without_the_scaler_shows_label_matchers_on_stderr(api_server, capsys):
    found = autoscaler("web")
    name = f"queue_length({go_string(LabelSelector(match_labels={'queue': 'mail'}))})"
    found["status"]["decision"] = {"summary": f"stays at 4 replicas: external metric {name} proposes 4"}  # fmt: skip
    api_server.documents[f"{within(LAS, 'shop')}/web"] = found
    assert main(["why", "la/web"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert 'external metric queue_length{queue="mail"} proposes 4' in printed.err
