"""Configurations in ConfigMaps, values and GitOps objects are found, with the line numbers of the file."""

import pytest
import yaml

from adapter.config.sources import sources

RULE = """\
- seriesQuery: up
  metricsQuery: sum(up)
  resources: {template: '<<.Resource>>'}
  typo: 1
"""


def indented(text, spaces):
    return "".join(" " * spaces + line + "\n" for line in text.splitlines())


PLAIN = "rules:\n" + RULE
CONFIGMAP = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: prometheus-adapter, namespace: monitoring}}
data:
  unrelated: text
  config.yaml: |
    rules:
{indented(RULE, 4)}"""
VALUES = f"""\
replicas: 2
rules:
  default: false
  custom:
{indented(RULE, 2)}"""
SUBCHART = "prometheus-adapter:\n" + indented(VALUES, 2)
HELM_RELEASE = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: adapter}}
spec:
  values:
{indented(VALUES, 4)}"""
APPLICATION = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: adapter}}
spec:
  source:
    helm:
      valuesObject:
{indented(VALUES, 8)}"""
APPLICATION_WITH_TEXT = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: adapter}}
spec:
  sources:
  - helm:
      values: |
{indented(VALUES, 8)}"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: adapter}\n"
LIST = "kind: List\nitems:\n- " + indented(CONFIGMAP, 2)[2:]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param(PLAIN, "f", id="a configuration"),
        pytest.param(CONFIGMAP, "f: ConfigMap monitoring/prometheus-adapter, config.yaml", id="a ConfigMap"),
        pytest.param(VALUES, "f: values", id="values of the chart"),
        pytest.param(SUBCHART, "f: values, prometheus-adapter", id="values of a parent chart"),
        pytest.param(HELM_RELEASE, "f: HelmRelease adapter", id="a HelmRelease"),
        pytest.param(APPLICATION, "f: Application adapter", id="an Application"),
        pytest.param(APPLICATION_WITH_TEXT, "f: Application adapter", id="an Application with text"),
        pytest.param(LIST, "f: ConfigMap monitoring/prometheus-adapter, config.yaml", id="a List"),
        pytest.param(SERVICE + "---\n" + CONFIGMAP, "f: ConfigMap monitoring/prometheus-adapter, config.yaml", id="among other objects"),
    ],
)  # fmt: skip
def test_a_configuration_is_found_and_its_errors_have_the_lines_of_the_file(text, name):
    (source,) = sources(text, file="f")
    assert source.name == name
    (problem,) = source.error.problems
    assert problem.path == "rules[0].typo"
    assert text.splitlines()[problem.line - 1].strip() == "typo: 1"


def test_of_an_application_the_object_replaces_the_text_as_in_argo_cd():
    helm = {"values": VALUES, "valuesObject": {"rules": {"default": False}}}
    application = {"kind": "Application", "spec": {"source": {"helm": helm}}}
    (source,) = sources(yaml.safe_dump(application), file="f")
    assert source.configuration.rules == ()


def test_values_of_an_application_that_are_not_yaml_are_reported():
    application = {"kind": "Application", "spec": {"source": {"helm": {"values": "rules: ["}}}}
    (source,) = sources(yaml.safe_dump(application), file="f")
    assert "not YAML" in source.error.problems[0].problem


def test_all_kinds_of_rules_in_values_are_read():
    rules = {
        "default": False,
        "external": [{"seriesQuery": "queue", "metricsQuery": "sum(queue)"}],
        "resource": {"window": "5m"},
        "metrics": [{"name": "load", "query": "sum(load)"}],
    }
    (source,) = sources(yaml.safe_dump({"rules": rules}), file="f")
    assert [rule.path for rule in source.configuration.rules] == ["externalRules[0]", "metrics[0]"]
    assert source.configuration.resource_rules.window_seconds == 300


@pytest.mark.parametrize(
    ("values", "warnings"),
    [
        pytest.param({"rules": {}}, 0, id="the default rules of the chart"),
        pytest.param({"rules": {"default": False, "existing": "mine"}}, 0, id="another ConfigMap"),
        pytest.param({"rules": {"default": False}}, 1, id="no rule"),
    ],
)
def test_values_without_rules_are_reported_only_if_nothing_else_gives_rules(values, warnings):
    (source,) = sources(yaml.safe_dump(values), file="f")
    assert len(source.configuration.warnings) == warnings


@pytest.mark.parametrize(
    "text",
    [
        "metrics: {enabled: true}",
        "rules: [{alert: Down, expr: up == 0}]",
        "rules: []",
        "backends: [a]",
        "metrics: [",
    ],
)
def test_the_text_of_another_program_in_a_config_map_is_not_a_configuration(text):
    config_map = {"kind": "ConfigMap", "data": {"application.yaml": text}}
    assert sources(yaml.safe_dump(config_map), file="f") == ()


def test_a_config_map_has_a_configuration_under_any_key_by_the_fields_of_its_rules():
    for text in (PLAIN, "metrics: [{query: a}]", "resourceRules: {cpu: {}}"):
        config_map = {"kind": "ConfigMap", "data": {"adapter.yaml": text}}
        assert len(sources(yaml.safe_dump(config_map), file="f")) == 1


def test_a_file_with_other_objects_only_has_no_configuration():
    assert sources(SERVICE, file="f") == ()


def test_text_that_is_not_yaml_is_reported_as_a_configuration():
    (source,) = sources("rules: [", file="f")
    assert "not YAML" in source.error.problems[0].problem


def test_merges_in_values_replace_whole_blocks_as_in_helm():
    text = """
rules:
  custom:
  - &base {seriesQuery: up, name: {matches: "^(.*)_total$", as: "${1}"}, metricsQuery: a}
  - <<: *base
    name: {as: "${0}_per_second"}
"""
    [source] = sources(text, file="values.yaml")
    assert [rule.name_matches for rule in source.configuration.rules] == ["^(.*)_total$", ".*"]
