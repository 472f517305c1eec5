"""`check` against a real Prometheus: what each rule yields, and why it yields nothing."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from adapter.commands.check import main as check
from adapter.diagnosis.check_report import SCHEMA, Report, RuleReport
from testbed import ports
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until

Checked = Callable[..., tuple[int, Report]]

TEMPLATE = "resources: {template: '<<.Resource>>'}"
QUERY = "metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'"


@pytest.fixture
def mine(exporter: Exporter, prometheus: PrometheusServer) -> Iterator[str]:
    """A prefix of the test's own, and series of that name: `_load` of two pods, `_total` of a namespace, `_bare`."""
    name = f"checked_{uuid.uuid4().hex[:8]}"
    exporter.set(f"{name}_load", 1.5, namespace="shop", pod="web-1")
    exporter.set(f"{name}_load", 2.5, namespace="shop", pod="web-2")
    exporter.set(f"{name}_total", 7, namespace="shop")
    exporter.set(f"{name}_bare", 3, colour="red")
    exporter.set(f"{name}_pod_alone", 3, pod="web-1")
    prometheus.wait_for(f"{name}_pod_alone")
    yield name
    for series in ("load", "total", "bare", "pod_alone"):
        exporter.remove(f"{name}_{series}")


@pytest.fixture
def checked(
    prometheus: PrometheusServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Checked:
    """`checked(text, *flags)`: the exit code and the report of `--output json`."""

    def run(text: str, *flags: str, url: str = prometheus.url) -> tuple[int, Report]:
        (tmp_path / "c.yaml").write_text(text)
        code = check([str(tmp_path / "c.yaml"), f"--prometheus-url={url}", "--output=json", *flags])
        return code, msgspec.json.decode(capsys.readouterr().out, type=Report)

    return run


def only_rule(report: Report) -> RuleReport:
    [rule] = report.rules
    return rule


def test_a_rule_that_works_shows_series_metrics_resources_and_a_value(checked, mine):
    text = f'rules:\n- seriesQuery: \'{mine}_load{{namespace!="",pod!=""}}\'\n  {TEMPLATE}\n  {QUERY}\n'
    code, report = checked(text)
    assert code == 0
    assert (report.ok, report.schema, report.resources, report.errors) == (
        True,
        SCHEMA,
        "built-in",
        (),
    )
    rule = only_rule(report)
    assert (rule.rule, rule.yields, rule.series_seen, rule.series_names) == (
        "rules[0]",
        True,
        2,
        (f"{mine}_load",),
    )
    [metric] = rule.metrics
    assert {"pods", "namespaces"} <= set(metric.resources)
    [tried] = rule.tried
    assert (tried.of, tried.value, tried.rows) == ("pod shop/web-1", "1500m", 1)
    assert tried.query == f'sum({mine}_load{{namespace="shop",pod="web-1"}}) by (pod)'
    assert rule.findings == ()


@pytest.mark.parametrize(
    ("rule", "reason", "message", "fix"),
    [
        pytest.param(f"seriesQuery: MINE_gone\n  {TEMPLATE}", "NoSeries", "Prometheus has no series for MINE_gone", "target is up", id="no series at all"),
        pytest.param(f"seriesQuery: 'MINE_bare{{namespace!=\"\"}}'\n  {TEMPLATE}", "NoSeries", "Prometheus has MINE_bare with the labels colour", "Give the series the labels", id="series without the labels requested for"),
        pytest.param(f"seriesQuery: '{{__name__=~\"MINE_.*\"}}'\n  {TEMPLATE}\n  seriesFilters: [{{isNot: '^MINE'}}]", "Filtered", "seriesFilters isNot: ^MINE", "RE2", id="filtered out"),
        pytest.param(f"seriesQuery: '{{__name__=~\"MINE_.*\"}}'\n  {TEMPLATE}\n  name: {{matches: '^http_'}}", "Filtered", "name.matches: ^http_", "RE2", id="no name matches"),
        pytest.param(f"seriesQuery: 'MINE_load{{pod'\n  {TEMPLATE}", "QueryRefused", "refused the query: bad_data", "`seriesQuery`", id="a selector that is not PromQL"),
        pytest.param("seriesQuery: MINE_bare\n  resources: {overrides: {pod: {resource: pod}}}", "LabelNotMapped", "no label that `resources` maps to a resource", "rules[0].resources.overrides", id="no label maps"),
        pytest.param("seriesQuery: MINE_load\n  resources: {overrides: {pod: {resource: gadget}}}", "UnknownResource", "rules[0].resources.overrides.pod: the cluster has no resource gadget", "--kubeconfig", id="an unknown resource"),
    ],
)  # fmt: skip
def test_a_rule_that_yields_nothing_says_why_and_how_to_fix_it(
    checked, mine, rule, reason, message, fix
):
    text = f"rules:\n- {rule.replace('MINE', mine)}\n  {QUERY}\n"
    code, report = checked(text)
    assert code == 0, (
        "a warning does not fail, or a rule for a service of tomorrow could not be merged"
    )
    found = only_rule(report)
    assert not found.yields
    printed = {finding.reason: finding for finding in found.findings}
    assert message.replace("MINE", mine) in printed[reason].message
    assert fix in printed[reason].fix
    assert checked(text, "--strict")[0] == 2


@pytest.mark.parametrize(
    ("kind", "rule", "reason", "message"),
    [
        pytest.param("rules", "seriesQuery: MINE_pod_alone\n  resources: {overrides: {pod: {resource: pod}}}\n  " + QUERY, "NoNamespaceLabel", "no label is mapped to the namespace", id="no label for the namespace"),
        pytest.param("rules", f"seriesQuery: MINE_pod_alone\n  {TEMPLATE}\n  {QUERY}", "NoNamespaceLabel", "'namespace', which no series has", id="no series has the namespace's label"),
        pytest.param("externalRules", "seriesQuery: MINE_bare\n  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'", "NoNamespaceLabel", "no label is mapped to the namespace", id="an external rule without a namespace"),
        pytest.param("rules", f"seriesQuery: MINE_load\n  {TEMPLATE}\n  metricsQuery: 'rate(<<.Series>>{{<<.LabelMatchers>>}})'", "QueryRefused", "refused the query: bad_data", id="a query that is not PromQL"),
        pytest.param("rules", f"seriesQuery: MINE_load\n  {TEMPLATE}\n  metricsQuery: '<<.Series>>{{<<.LabelMatchers>>}}[1m]'", "NotAVector", "yields a matrix", id="a range vector"),
        pytest.param("rules", f"seriesQuery: MINE_load\n  {TEMPLATE}\n  metricsQuery: 'sum(MINE_gone{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'", "NoRows", "yields no row", id="a query about other series"),
        pytest.param("rules", f"seriesQuery: MINE_load\n  {TEMPLATE}\n  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>) * 0 / 0'", "NotANumber", "NaN", id="NaN"),
        pytest.param("metrics", "name: ratio\n  describes: pods\n  query: MINE_gone", "NoRows", "yields no row", id="a named metric without rows"),
        pytest.param("metrics", "name: ratio\n  describes: pods\n  query: MINE_total", "LabelNotMapped", "no label 'pod'", id="a named metric whose rows name no object"),
    ],
)  # fmt: skip
def test_a_rule_whose_requests_would_fail_says_why(checked, mine, kind, rule, reason, message):
    code, report = checked(f"{kind}:\n- {rule.replace('MINE', mine)}\n")
    assert code == 0
    printed = {finding.reason: finding.message for finding in only_rule(report).findings}
    assert message in printed.get(reason, ""), report


def test_a_range_that_is_too_short_for_the_scrape_interval_is_a_warning(checked, tmp_path):
    options = PrometheusOptions(scrape_interval_seconds=2.0)
    rule = "metrics:\n- {name: seen, describes: pods, query: 'sum by (namespace, pod) (rate(seen_total[RANGE]))'}\n"
    with (
        Exporter() as exporter,
        PrometheusServer(options, directory=tmp_path / "prometheus") as prometheus,
    ):
        prometheus.add_target(exporter.target)
        exporter.increase("seen_total", 5.0, namespace="shop", pod="web-1")
        scrapes = "changes(timestamp(seen_total)[10m:1s]) >= 2"
        until(lambda: prometheus.query(scrapes), what="three scrapes")
        _, report = checked(rule.replace("RANGE", "10s"), url=prometheus.url)
        assert only_rule(report).findings == ()
        _, report = checked(rule.replace("RANGE", "3s"), url=prometheus.url)
    [finding] = [each for each in only_rule(report).findings if each.reason == "ShortRange"]
    assert "the range [3s] of seen_total is shorter than two scrape intervals" in finding.message
    assert finding.fix.startswith("Use [8s]")


def test_a_pod_that_is_gone_is_not_the_fault_of_the_rule(checked, exporter, prometheus, mine):
    """Its series is listed for ten minutes more, and comes first."""
    exporter.set(f"{mine}_late", 9, namespace="shop", pod="gone")
    prometheus.wait_for(f"{mine}_late")
    exporter.remove(f"{mine}_late")
    until(lambda: not prometheus.query(f"{mine}_late"), what="the end of its series")
    exporter.set(f"{mine}_late", 8, namespace="shop", pod="here")
    prometheus.wait_for(f"{mine}_late")
    _, report = checked(f"rules:\n- seriesQuery: '{mine}_late'\n  {TEMPLATE}\n  {QUERY}\n")
    exporter.remove(f"{mine}_late")
    rule = only_rule(report)
    assert rule.series_seen == 2
    assert (rule.tried[0].of, rule.tried[0].value, rule.findings) == ("pod shop/here", "8", ())


def test_named_and_external_metrics_show_a_value(checked, mine):
    text = f"""
externalRules:
- seriesQuery: '{mine}_total{{namespace!=""}}'
  resources: {{overrides: {{namespace: {{resource: namespace}}}}}}
  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}})'
metrics:
- name: load
  describes: pods
  query: 'sum by (namespace, pod) ({mine}_load)'
- name: all_of_it
  query: 'sum({mine}_load)'
"""
    code, report = checked(text)
    assert code == 0
    external, pods, everything = report.rules
    assert (external.tried[0].of, external.tried[0].value) == ("namespace shop", "7")
    assert external.tried[0].query == f'sum({mine}_total{{namespace="shop"}})'
    assert pods.tried[0].of in ("pod shop/web-1", "pod shop/web-2")
    assert pods.tried[0].value in ("1500m", "2500m")
    assert (everything.tried[0].of, everything.tried[0].value) == ("every namespace", "4")


def test_usage_rules_are_tried_over_all_pods_and_nodes(checked, mine):
    rule = f"""{{containerQuery: 'sum({mine}_load{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)',
    nodeQuery: 'sum({mine}_gone{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)', containerLabel: container,
    resources: {{overrides: {{namespace: {{resource: namespace}}, pod: {{resource: pod}}, node: {{resource: node}}}}}}}}"""
    _, report = checked(f"resourceRules:\n  cpu: {rule}\n  memory: {rule}\n  window: 1m\n")
    pods, nodes = report.rules
    assert (pods.yields, [tried.rows for tried in pods.tried]) == (True, [2, 2])
    assert (nodes.yields, {finding.reason for finding in nodes.findings}) == (False, {"NoRows"})


def test_the_later_of_two_rules_for_one_metric_is_named(checked, mine):
    rule = f"- seriesQuery: '{mine}_load{{EXTRA}}'\n  {TEMPLATE}\n  {QUERY}\n"
    _, report = checked(
        "rules:\n" + rule.replace("EXTRA", 'pod!=""') + rule.replace("EXTRA", 'namespace!=""')
    )
    [overlap] = report.overlaps
    assert overlap.rule == "rules[0]"
    assert "rules[1] serves instead" in overlap.message


def test_a_prometheus_that_is_not_there_makes_the_check_incomplete(checked):
    code, report = checked(
        f"rules:\n- seriesQuery: up\n  {TEMPLATE}\n  {QUERY}\n",
        url=f"http://127.0.0.1:{ports.reserve()}",
    )
    assert code == 1
    [finding] = only_rule(report).findings
    assert finding.reason == "PrometheusDown"
    assert "Connection refused" in finding.message
    assert "--prometheus-url" in finding.fix


def test_a_backend_of_the_file_is_queried_at_its_own_address(checked, mine, prometheus):
    text = f"""
metrics: [{{name: load, query: 'sum({mine}_load)', backend: other}}]
backends: [{{name: other, url: '{prometheus.url}'}}]
"""
    code, report = checked(text, url=f"http://127.0.0.1:{ports.reserve()}")
    assert (code, only_rule(report).backend, only_rule(report).tried[0].value) == (0, "other", "4")


def test_with_a_cluster_its_custom_resources_are_known(checked, mine, cluster: Cluster):
    group = f"{mine.replace('_', '-')}.example.com"
    name = f"gadgets.{group}"
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    cluster.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": names,
                "versions": [version | schema],
            },
        }
    )
    cluster.wait_for_crd(name)
    text = f"rules:\n- seriesQuery: {mine}_load\n  {QUERY}\n  resources: {{overrides: {{namespace: {{resource: namespace}}, pod: {{resource: gadget}}}}}}\n"

    def known() -> bool:
        code, report = checked(text, f"--kubeconfig={cluster.kubeconfig}")
        assert (code, report.resources) == (0, "cluster")
        assert name in only_rule(report).metrics[0].resources
        return True

    until(known, what="the custom resource in discovery")
    assert [finding.reason for finding in only_rule(checked(text)[1]).findings] == [
        "UnknownResource"
    ]
    cluster.kubectl("delete", "crd", name)
