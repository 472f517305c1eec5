"""What a rule yields from given series, and a request that it would answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.answer.query_plan import custom_metric_query
from adapter.config import parse
from adapter.diagnosis.rule_yields import by_name_alone, yielded
from adapter.model import CustomMetricRequest, DiscoveryRule
from tests.fakes.adapter import FakeMapping

MAPPING = FakeMapping()


def rule_of(text: str) -> DiscoveryRule:
    [rule] = parse(
        f"rules:\n- {{seriesQuery: a, metricsQuery: '<<.Series>>{{<<.LabelMatchers>>}}', {text}}}"
    ).rules
    assert isinstance(rule, DiscoveryRule)
    return rule


BY_TEMPLATE = rule_of("resources: {template: '<<.Resource>>'}")


def series(name: str = "a", **labels: str) -> dict[str, str]:
    return {"__name__": name, **labels}


@pytest.mark.parametrize(
    ("labels", "subject"),
    [
        pytest.param({"namespace": "n", "pod": "p", "service": "s"}, ("pods", "n", "p"), id="a pod first"),
        pytest.param({"namespace": "n", "service": "s"}, ("services", "n", "s"), id="another object next"),
        pytest.param({"namespace": "n"}, ("namespaces", "", "n"), id="a namespace last"),
        pytest.param({"node": "x"}, ("nodes", "", "x"), id="no namespace for what has none"),
    ],
)  # fmt: skip
def test_the_request_to_try_is_about_an_object_of_the_series(labels, subject):
    trial = yielded(BY_TEMPLATE, [series(**labels)], MAPPING).trial
    assert trial
    assert isinstance(trial.request, CustomMetricRequest)
    request = trial.request
    assert (request.resource.resource, request.namespace, request.name) == subject


@pytest.mark.parametrize(
    ("query", "alone"),
    [
        ('http_requests_total{namespace!=""}', '{__name__="http_requests_total"}'),
        ('{__name__=~"^http_.*",pod!=""}', '{__name__=~"^http_.*"}'),
        ("http_requests_total", None),
        ('{namespace!=""}', None),
        ('{__name__!~"^go_.*",namespace!=""}', None),
        ("sum(", None),
    ],
)
def test_a_selector_without_its_labels_never_selects_everything(query, alone):
    assert by_name_alone(query) == alone


def test_series_that_name_no_object_are_reported_beside_those_that_do():
    found = yielded(
        BY_TEMPLATE, [series(pod="p", namespace="n"), series("b", colour="red")], MAPPING
    )
    assert [metric.series for metric in found.metrics] == ["a"]
    [finding] = found.findings
    assert finding.reason == "LabelNotMapped"
    assert "1 of its series" in finding.message
    assert "colour" in finding.message


def test_the_filter_at_fault_is_named():
    rule = rule_of(
        "resources: {template: '<<.Resource>>'}, seriesFilters: [{is: '^a'}, {isNot: 'b$'}]"
    )
    [finding] = yielded(rule, [series("ab", pod="p"), series("c", pod="p")], MAPPING).findings
    assert (finding.reason, "seriesFilters isNot: b$" in finding.message) == ("Filtered", True)


label_sets = st.lists(
    st.dictionaries(
        st.sampled_from(["namespace", "pod", "node", "job", "x"]), st.sampled_from(["", "v", "w"])
    ),
    max_size=5,
)


@given(label_sets)
def test_a_rule_yields_metrics_or_says_why_not(found):
    come_to = yielded(BY_TEMPLATE, [series(**labels) for labels in found], MAPPING)
    assert come_to.metrics or come_to.findings


@given(label_sets)
def test_every_request_to_try_has_a_query(found):
    """What `check` sends is what the server would send: it is built by the same stage."""
    trial = yielded(BY_TEMPLATE, [series(**labels) for labels in found], MAPPING).trial
    if trial:
        assert isinstance(trial.request, CustomMetricRequest)
        assert custom_metric_query(
            trial.request, trial.offer, MAPPING, (trial.request.name,)
        ).plan.query
