"""Valid files: those of prometheus-adapter unchanged, and Loadline's own parts."""

import contextlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.config import ConfigError, Configuration, decode, load, parse
from adapter.config.signal_block import DISCOVERED_CUSTOM, NAMED, signal_of_named
from adapter.model import (
    PODS,
    BackendRef,
    DiscoveryRule,
    GroupResource,
    NamedRule,
    Reaction,
    SeriesFilter,
    SignalContract,
)

WALKTHROUGH = """
rules:
- seriesQuery: '{__name__=~"^container_.*",container!="POD",namespace!="",pod!=""}'
  seriesFilters:
  - isNot: ^container_.*_seconds_total$
  resources:
    overrides:
      namespace: {resource: namespace}
      pod: {resource: pod}
      deploy: {group: apps, resource: deployment}
  name:
    matches: ^container_(.*)_total$
    as: ""
  metricsQuery: sum(rate(<<.Series>>{<<.LabelMatchers>>,container!="POD"}[5m])) by (<<.GroupBy>>)
externalRules:
- seriesQuery: 'queue_depth'
  resources: {template: <<.Resource>>, namespaced: false}
  name: {as: "${0}_external"}
  metricsQuery: max(<<.Series>>{<<.LabelMatchers>>})
resourceRules:
  cpu:
    containerQuery: sum(rate(container_cpu_usage_seconds_total{<<.LabelMatchers>>}[3m])) by (<<.GroupBy>>)
    nodeQuery: sum(rate(container_cpu_usage_seconds_total{<<.LabelMatchers>>,id='/'}[3m])) by (<<.GroupBy>>)
    resources: {overrides: {instance: {resource: node}, namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  memory:
    containerQuery: sum(container_memory_working_set_bytes{<<.LabelMatchers>>}) by (<<.GroupBy>>)
    nodeQuery: sum(container_memory_working_set_bytes{<<.LabelMatchers>>,id='/'}) by (<<.GroupBy>>)
    resources: {overrides: {instance: {resource: node}, namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  window: 3m
"""


@pytest.fixture(scope="module")
def walkthrough() -> Configuration:
    return parse(WALKTHROUGH)


def rule_of(text: str) -> DiscoveryRule:
    rule = parse(text).rules[0]
    assert isinstance(rule, DiscoveryRule)
    return rule


def metric_of(text: str) -> NamedRule:
    rule = parse(f"metrics: [{text}]").rules[0]
    assert isinstance(rule, NamedRule)
    return rule


def test_a_file_of_prometheus_adapter_is_read_without_a_warning(walkthrough):
    assert walkthrough.warnings == ()
    assert (walkthrough.serves_custom, walkthrough.serves_external, walkthrough.serves_usage) == (
        True,
        True,
        True,
    )


def test_a_rule_has_the_values_of_the_file(walkthrough):
    rule = walkthrough.rules[0]
    assert rule.path == "rules[0]"
    assert rule.resources.overrides[2] == ("deploy", GroupResource("deployment", "apps"))
    assert (rule.name_matches, rule.name_as) == ("^container_(.*)_total$", "$1")


def test_a_name_pattern_is_a_filter_as_well(walkthrough):
    assert walkthrough.rules[0].series_filters == (
        SeriesFilter("^container_.*_seconds_total$", positive=False),
        SeriesFilter("^container_(.*)_total$", positive=True),
    )


def test_an_external_rule_knows_that_it_is_one(walkthrough):
    rule = walkthrough.rules[1]
    assert (rule.external, rule.resources.namespaced, rule.path) == (
        True,
        False,
        "externalRules[0]",
    )


@pytest.mark.parametrize("window", ["0", "0s", "~"])
def test_the_window_of_resource_rules_may_be_zero_as_in_prometheus_adapter(window):
    assert parse(f"resourceRules: {{window: {window}}}").resource_rules.window_seconds == 0


def test_resource_rules_have_a_window_in_seconds(walkthrough):
    assert walkthrough.resource_rules.window_seconds == 180
    assert walkthrough.resource_rules.cpu.container_label == "container"


@pytest.mark.parametrize(
    ("name", "matches", "as_"),
    [
        pytest.param("{}", ".*", "$0", id="neither"),
        pytest.param("{matches: '^a_(.*)$'}", "^a_(.*)$", "$1", id="one group is the name"),
        pytest.param("{matches: '^a_.*$'}", "^a_.*$", "$0", id="without groups it is all of it"),
        pytest.param("{matches: '(.*)_(.*)', as: '$2'}", "(.*)_(.*)", "$2", id="said"),
    ],
)
def test_name_has_the_defaults_of_prometheus_adapter(name, matches, as_):
    rule = rule_of(f"rules: [{{seriesQuery: up, metricsQuery: up, name: {name}}}]")
    assert (rule.name_matches, rule.name_as) == (matches, as_)


def test_json_is_yaml_too():
    assert (
        rule_of(
            '{"rules": [{"seriesQuery": "up", "metricsQuery": "x", "resources": {"namespaced": true}}]}'
        ).series_query
        == "up"
    )


def test_a_file_in_utf_16_is_read_as_by_prometheus_adapter():
    content = WALKTHROUGH.encode("utf-16")
    assert decode(content, file=Path("c")) == parse(WALKTHROUGH)


@pytest.mark.deviation("yaml-values")
@pytest.mark.parametrize("written", ["null", "~", "Null", "NULL", ""])
def test_every_null_means_that_a_field_is_not_set(written):
    external = "{seriesQuery: up, metricsQuery: up, resources: {namespaced: %s}}"
    text = f"externalRules: [{external % written}]\nresourceRules: {written}"
    configuration = parse(text)
    assert configuration.rules[0].resources.namespaced
    assert configuration.resource_rules is None


@pytest.mark.deviation("yaml-values")
@pytest.mark.parametrize("written", ["'false'", '"False"', "fALSE", "!!str false", "off"])
def test_a_boolean_may_be_written_in_quotes_and_in_any_case(written):
    external = f"{{seriesQuery: up, metricsQuery: up, resources: {{namespaced: {written}}}}}"
    assert not rule_of(f"externalRules: [{external}]").resources.namespaced


@pytest.mark.deviation("newer-yaml")
def test_the_directive_of_yaml_1_2_is_accepted():
    text = "rules: [{seriesQuery: up, metricsQuery: up}]\n"
    assert parse(f"%YAML 1.2\n---\n{text}").rules == parse(f"---\n\n{text}").rules


def test_any_scalar_is_a_text_as_in_prometheus_adapter():
    assert (
        rule_of("rules: [{seriesQuery: 5, metricsQuery: true, name: {as: 1.0}}]").name_as == "1.0"
    )


def test_a_block_after_a_merge_is_decoded_into_that_of_the_anchor():
    text = """
rules:
- &base {seriesQuery: up, name: {matches: "^(.*)_total$", as: "${1}"}, metricsQuery: a}
- <<: *base
  name: {as: "${1}_per_second"}
"""
    assert [(rule.name_matches, rule.name_as) for rule in parse(text).rules] == [
        ("^(.*)_total$", "${1}"),
        ("^(.*)_total$", "${1}_per_second"),
    ]


def test_an_override_that_a_merge_gives_again_is_a_problem():
    text = """
rules:
- seriesQuery: up
  metricsQuery: a
  resources:
    overrides: {<<: {pod: {resource: pod}}, pod: {resource: node}}
"""
    with pytest.raises(ConfigError, match="`pod` is given twice"):
        parse(text)


def test_anchors_and_merges_are_followed_and_own_fields_win():
    text = """
rules:
- &base {seriesQuery: up, metricsQuery: a}
- <<: *base
  metricsQuery: b
"""
    assert [(rule.series_query, rule.metrics_query) for rule in parse(text).rules] == [
        ("up", "a"),
        ("up", "b"),
    ]


@pytest.mark.parametrize("text", ["", "---\n", "{}", "# nothing", "rules:\nexternalRules: []\n"])
def test_an_empty_file_serves_nothing_and_says_so(text):
    configuration = parse(text)
    assert (
        configuration.serves_custom,
        configuration.serves_external,
        configuration.serves_usage,
    ) == (False, False, False)
    assert "no metrics API is served" in str(configuration.warnings[0])


# --- Loadline only -------------------------------------------------------------------------------------------------------------


def test_a_named_metric_describes_its_objects_by_the_usual_labels():
    metric = metric_of(
        "{name: rps, describes: pods, query: 'sum by (namespace, pod) (rate(x[1m]))'}"
    )
    assert (metric.describes, metric.object_label, metric.namespace_label) == (
        PODS,
        "pod",
        "namespace",
    )
    assert (metric.window_seconds, metric.backend) == (None, BackendRef())


@pytest.mark.parametrize(
    ("described", "label"),
    [
        ("ingresses.networking.k8s.io", "ingress"),
        ("policies.example.com", "policy"),
        ("deployment.apps", "deployment"),
        ("boxes.example.com", "box"),
    ],
)
def test_the_label_of_a_resource_is_its_singular(described, label):
    assert metric_of(f"{{name: a, describes: {described}, query: a}}").object_label == label


def test_labels_can_be_said():
    metric = metric_of(
        "{name: a, describes: pods, query: a, labels: {object: pod_name, namespace: ns}}"
    )
    assert (metric.object_label, metric.namespace_label) == ("pod_name", "ns")


def test_objects_without_a_namespace_have_no_namespace_label():
    assert metric_of("{name: a, describes: nodes, query: a}").namespace_label == ""


def test_a_metric_that_describes_nothing_is_external_and_everybodys():
    metric = metric_of("{name: a, query: sum(a)}")
    assert (metric.describes, metric.object_label, metric.namespace_label) == (None, "", "")


def test_named_metrics_fail_where_prometheus_adapter_guesses():
    named = metric_of("{name: a, query: a}").contract
    assert (named.on_empty, named.on_nan, named.on_partial) == (
        Reaction.FAIL,
        Reaction.FAIL,
        Reaction.FAIL,
    )
    discovered = rule_of("rules: [{seriesQuery: a, metricsQuery: a}]").contract
    assert (discovered.on_empty, discovered.on_nan, discovered.on_partial) == (
        Reaction.OMIT,
        Reaction.ZERO,
        Reaction.ACCEPT,
    )


def test_a_signal_contract_is_read_for_discovery_rules_too():
    signal = "signal: {onNaN: last, onStale: zero, staleAfter: 2m, lastFor: 5m, onPartial: fail}"
    contract = rule_of(f"rules: [{{seriesQuery: a, metricsQuery: a, {signal}}}]").contract
    assert (contract.on_nan, contract.on_stale, contract.on_partial) == (
        Reaction.LAST,
        Reaction.ZERO,
        Reaction.FAIL,
    )
    assert (contract.stale_after_seconds, contract.last_for_seconds) == (120, 300)


def test_rules_name_their_backend():
    configuration = parse("""
backends:
- {name: tenant-a, url: "https://mimir:8080/prometheus", headers: {X-Scope-OrgID: a}, verb: POST, timeout: 1m30s, maxConcurrency: 4, tokenFile: /t}
metrics:
- {name: a, query: a, backend: tenant-a}
""")
    backend = configuration.backends[0]
    assert (backend.headers, backend.verb, backend.timeout_seconds, backend.concurrency_max) == (
        (("X-Scope-OrgID", "a"),),
        "POST",
        90,
        4,
    )
    assert configuration.rules[0].backend == backend.ref


def test_rules_of_all_kinds_are_in_the_order_in_which_later_ones_win():
    configuration = parse(
        "metrics: [{name: a, query: a}]\nexternalRules: [{seriesQuery: b, metricsQuery: b}]\nrules: [{seriesQuery: c, metricsQuery: c}]"
    )
    assert [rule.path for rule in configuration.rules] == [
        "rules[0]",
        "externalRules[0]",
        "metrics[0]",
    ]


def test_a_file_is_loaded_by_its_path(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(WALKTHROUGH)
    assert load(path) == parse(WALKTHROUGH)


keys = st.sampled_from(
    ["rules", "metrics", "name", "resources", "overrides", "signal", "backends", "x"]
)
leaves = st.none() | st.booleans() | st.text(max_size=5)
documents = st.recursive(
    leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=3), max_leaves=12
)


@given(documents)
def test_no_document_breaks_the_reader(document):
    with contextlib.suppress(ConfigError):
        parse(msgspec.json.encode(document).decode())


@given(st.text(alphabet=" \n\t-:{}[]&*!|>'\"#%@,?abrules<0", max_size=40))
def test_no_text_breaks_the_reader(text):
    with contextlib.suppress(ConfigError):
        parse(text)


_REACTIONS = st.sampled_from([Reaction.FAIL, Reaction.ZERO, Reaction.LAST, Reaction.OMIT])
_CONTRACTS = st.builds(
    SignalContract,
    on_empty=_REACTIONS,
    on_nan=_REACTIONS,
    on_stale=_REACTIONS,
    on_partial=st.sampled_from([Reaction.FAIL, Reaction.LAST, Reaction.ACCEPT]),
    stale_after_seconds=st.sampled_from([0.5, 120.0]),
    last_for_seconds=st.sampled_from([90.0, 300.0]),
    keeps_positive=st.just(True),
)


@given(_CONTRACTS)
def test_a_signal_that_is_written_is_read_as_the_same_contract(contract):
    rule = {"name": "load", "query": "sum(load)", "signal": signal_of_named(contract)}
    assert metric_of(msgspec.json.encode(rule).decode()).contract == contract


def test_a_signal_has_no_reactions_that_are_the_default_of_named_metrics():
    assert signal_of_named(NAMED) == {}
    assert signal_of_named(DISCOVERED_CUSTOM) == {
        "onEmpty": "omit",
        "onNaN": "zero",
        "onPartial": "accept",
    }
