"""`loadline-adapter migrate` with a real Prometheus: named metrics have the values of the rules that they replace."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest
import yaml

from adapter.config import parse
from testbed.waiting import until

RULES = """
rules:
- seriesQuery: 'MINE_requests_total{namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: '^(.*)_total$', as: '${1}_per_second'}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[5s])) by (<<.GroupBy>>)'
- seriesQuery: 'MINE_depth{kubernetes_namespace!="",kubernetes_pod!=""}'
  resources: {template: 'kubernetes_<<.Resource>>'}
  metricsQuery: 'max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
  signal: {onNaN: fail, staleAfter: 2m}
- seriesQuery: 'MINE_depth{kubernetes_namespace!="",kubernetes_pod!=""}'
  resources: {template: 'kubernetes_<<.Resource>>'}
  name: {as: MINE_count}
  metricsQuery: 'count(<<.Series>>{<<.LabelMatchers>>})'
- seriesQuery: 'MINE_missing{namespace!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'MINE_served{namespace!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: 'MINE_depth'
  resources: {namespaced: false}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
"""

OF_NAMESPACES = ". Keep the rule if an autoscaler reads this metric for a Namespace, which named metrics do not support"


@pytest.fixture
def mine(exporter, prometheus) -> str:
    name = f"moved_{uuid.uuid4().hex[:8]}"
    for namespace in ("shop", "bank"):
        for pod, rate in (("a", 2), ("b", 3)):
            exporter.increase(f"{name}_requests_total", rate, namespace=namespace, pod=pod)
            labels = {"kubernetes_namespace": namespace, "kubernetes_pod": pod}
            exporter.set(f"{name}_depth", rate, **labels)
        exporter.set(f"{name}_served", 5, namespace=namespace, service="api", deployment="api")
    prometheus.wait_for(f"count(rate({name}_requests_total[5s])) == 4")
    return name


def test_a_rule_is_replaced_only_where_equal_values_are_proven(mine, prometheus, tmp_path: Path):
    file = tmp_path / "config.yaml"
    file.write_text(RULES.replace("MINE", mine))
    command = [sys.executable, "-m", "adapter", "migrate", str(file), f"--prometheus-url={prometheus.url}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    printed = done.stderr.splitlines()
    assert printed[0] == (
        f"rules[0] is replaced by {mine}_requests_per_second of pods: the values of 4 objects are equal{OF_NAMESPACES}"
    )
    assert printed[1] == (
        f"rules[1] is replaced by {mine}_depth of pods: the values of 4 objects are equal{OF_NAMESPACES}"
    )
    assert printed[2].startswith("rules[2] is kept: ")
    assert printed[3] == (
        f"rules[3] is kept: Prometheus has no series for it; loadline-adapter check {file} says why"
    )
    assert printed[4].startswith(f"rules[4] is replaced by {mine}_served of ")
    # Prometheus adds the label of the scrape job, which is the name of a Job to prometheus-adapter.
    assert "the values of 6 objects are equal" in printed[4]
    assert printed[5].startswith("externalRules[0] is kept: ")

    new = yaml.safe_load(done.stdout)
    assert [rule["seriesQuery"].split("{")[0] for rule in new["rules"]] == [
        f"{mine}_depth",
        f"{mine}_missing",
    ]
    first, second, *served = new["metrics"]
    assert {each["describes"] for each in served} == {"services", "deployments.apps", "jobs.batch"}
    assert (first["name"], first["describes"]) == (f"{mine}_requests_per_second", "pods")
    assert first["signal"] == {"onEmpty": "omit", "onNaN": "zero", "onPartial": "accept"}
    assert second["signal"] == {"onEmpty": "omit", "onPartial": "accept", "staleAfter": "120s"}
    assert second["labels"] == {"object": "kubernetes_pod", "namespace": "kubernetes_namespace"}
    parse(done.stdout)
    expected = {("shop", "a"): 2, ("shop", "b"): 3, ("bank", "a"): 2, ("bank", "b"): 3}

    def has_expected_values() -> bool:
        """A rate over 5 s is too low at first, and whenever a scrape is late."""
        found = prometheus.query(first["query"])
        values = {(v.labels["namespace"], v.labels["pod"]): round(v.value) for v in found}
        assert values == expected
        return True

    until(has_expected_values, what="the rates of all pods")


def test_without_a_prometheus_nothing_can_be_proven(tmp_path: Path):
    file = tmp_path / "config.yaml"
    file.write_text(RULES)
    command = [sys.executable, "-m", "adapter", "migrate", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--prometheus-url is required" in done.stderr
