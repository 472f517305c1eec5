"""Rules and series to the table of metrics, and the metric queries made from it."""

import pytest

from adapter.answer.query_plan import custom_metric_query, external_metric_query
from adapter.config import parse as parse_configuration
from adapter.documents import paths, resource_lists
from adapter.model import NAMESPACES, NODES, PODS, BackendRef, GroupResource, MetricEntry, Series
from adapter.promql.series_offers import Offers, offers
from tests.fakes.adapter import CORE_KINDS, FakeMapping, Kind
from wire.api.status import StatusError

FLEET = GroupResource("fleets", "example.com")
MAPPING = FakeMapping(
    [*CORE_KINDS, Kind("fleets", "fleet", "Fleet", group="example.com", namespaced=False)]
)

CONFIGURATION = """
rules:
- seriesQuery: web
  resources: {template: "<<.Resource>>"}
  name: {matches: "^(.*)_total$"}
  metricsQuery: sum(rate(<<.Series>>{<<.LabelMatchers>>}[5m])) by (<<.GroupBy>>)
- seriesQuery: web
  seriesFilters: [{isNot: "_total$"}]
  resources: {template: "<<.Resource>>"}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
- seriesQuery: missing
  resources: {overrides: {widget: {resource: widgets}, pod: {resource: pod}}}
  metricsQuery: <<.Series>>
externalRules:
- seriesQuery: queue
  resources: {overrides: {ns: {resource: namespace}}}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
metrics:
- {name: rps, describes: pods, query: 'sum by (namespace, pod) (rate(http_requests_total[1m]))', window: 1m}
- {name: load, describes: nodes, query: 'sum by (node) (node_load1)'}
- {name: backlog, query: 'sum(queue_depth)'}
- {name: tenant_backlog, query: 'sum by (namespace) (queue_depth)', labels: {namespace: namespace}}
- {name: cargo, describes: fleets.example.com, query: 'sum by (namespace, fleet) (cargo)'}
- {name: gadgets, describes: gadgets.example.com, query: 'sum by (namespace, gadget) (x)'}
"""

KNOWN = {
    (BackendRef(), "web"): [
        Series("http_requests_total", frozenset({"pod", "namespace", "code"})),
        Series("connections", frozenset({"pod", "namespace", "node"})),
        Series("ships", frozenset({"fleet"})),
        Series("anonymous", frozenset({"code"})),
    ],
    (BackendRef(), "missing"): [Series("odd", frozenset({"widget", "pod"}))],
    (BackendRef(), "queue"): [Series("queue_depth", frozenset({"ns"}))],
}


@pytest.fixture(scope="module")
def table() -> Offers:
    return offers(parse_configuration(CONFIGURATION).rules, KNOWN, MAPPING)


def test_each_label_that_names_a_resource_makes_a_metric_of_it(table):
    assert {str(e.resource) for e in table.custom if e.metric == "connections"} == {
        "pods",
        "namespaces",
        "nodes",
    }


@pytest.mark.parametrize(
    ("resource", "namespaced"),
    [(PODS, True), (NODES, False), (NAMESPACES, False)],
    ids=["pods", "nodes", "namespaces"],
)
def test_a_metric_is_listed_in_the_scope_of_its_resource(table, resource, namespaced):
    assert MetricEntry(resource, namespaced, "connections") in table.custom


@pytest.mark.deviation("cluster-scoped-resources")
def test_a_cluster_scoped_custom_resource_is_root_scoped(table):
    assert MetricEntry(FLEET, False, "ships") in table.custom


def test_series_are_named_and_filtered_by_their_rule(table):
    offer = table.custom[MetricEntry(PODS, True, "http_requests")]
    assert (offer.rule.path, offer.series) == ("rules[0]", "http_requests_total")
    assert not [entry for entry in table.custom if entry.metric.endswith("_total")]


def test_named_metrics_need_no_series(table):
    assert {"backlog", "tenant_backlog", "queue_depth"} == set(table.external)
    assert MetricEntry(PODS, True, "rps") in table.custom
    assert MetricEntry(NODES, False, "load") in table.custom


def test_problems_are_reported_per_rule_and_stop_nothing(table):
    assert set(table.problems) == {"rules[1]", "rules[2]", "metrics[5]"}
    assert "1 series have no label" in table.problems["rules[1]"][0]
    assert "anonymous" in table.problems["rules[1]"][0]
    assert "no resource widgets" in table.problems["rules[2]"][0]
    assert MetricEntry(PODS, True, "odd") in table.custom


def test_rules_that_share_no_metric_do_not_overlap(table):
    assert table.overlaps == {}


def test_a_rule_whose_series_are_unknown_offers_nothing_and_does_not_affect_the_others():
    rules = parse_configuration(CONFIGURATION).rules
    without = offers(
        rules, {key: found for key, found in KNOWN.items() if key[1] != "web"}, MAPPING
    )
    assert MetricEntry(PODS, True, "odd") in without.custom
    assert MetricEntry(PODS, True, "http_requests") not in without.custom


def test_of_two_rules_for_one_metric_the_later_serves_it():
    both = parse_configuration(
        "metrics: [{name: a, query: up}]\nexternalRules: [{seriesQuery: x, name: {as: a}, resources: {namespaced: false}, metricsQuery: <<.Series>>}]"
    )
    table = offers(both.rules, {(BackendRef(), "x"): [Series("s", frozenset())]}, MAPPING)
    assert table.external["a"].rule.path == "metrics[0]"
    assert table.overlaps == {"externalRules[0]": ["metrics[0] serves instead: a"]}


def ask(table, path, names=("web-0",), query=()):
    request = paths.custom_metric(path, list(query))
    entry = MetricEntry(
        MAPPING.resource_for(request.resource), bool(request.namespace), request.metric
    )
    return custom_metric_query(request, table.custom[entry], MAPPING, names)


def test_the_query_of_a_discovered_metric_names_the_objects(table):
    requested = ask(
        table,
        "namespaces/shop/pods/web-0/http_requests",
        query=[("metricLabelSelector", "code=200")],
    )
    assert (
        requested.plan.query
        == 'sum(rate(http_requests_total{code="200",namespace="shop",pod="web-0"}[5m])) by (pod)'
    )
    assert (requested.rows.object_label, requested.rows.where, requested.rule) == (
        "pod",
        (),
        "rules[0]",
    )


def test_a_named_metric_is_one_plan_for_every_request(table):
    first = ask(table, "namespaces/shop/pods/*/rps", ("a", "b"))
    second = ask(table, "namespaces/other/pods/c/rps", ("c",))
    assert first.plan == second.plan
    assert first.rows.where == (("namespace", "shop"),)
    assert second.rows.where == (("namespace", "other"),)
    assert first.window_seconds == 60


@pytest.mark.deviation("cluster-scoped-resources")
def test_a_cluster_scoped_object_is_not_searched_in_a_namespace(table):
    requested = ask(table, "fleets.example.com/f/cargo", ("f",))
    assert (requested.rows.object_label, requested.rows.where) == ("fleet", ())


def test_a_selector_makes_a_plan_of_its_own(table):
    requested = ask(
        table, "namespaces/shop/pods/*/rps", query=[("metricLabelSelector", "code in (200,201)")]
    )
    assert (
        requested.plan.query
        == 'sum by (namespace, pod) (rate(http_requests_total{code=~"200|201"}[1m]))'
    )


def test_a_selector_that_matches_no_object_sends_no_query(table):
    with pytest.raises(
        StatusError, match="no object matches the label selector 'app=gone'"
    ) as refused:
        ask(table, "namespaces/shop/pods/*/rps", (), [("labelSelector", "app=gone")])
    assert refused.value.code == 404


def external(table, metric, query=()):
    request = paths.external_metric(f"namespaces/shop/{metric}", list(query))
    return external_metric_query(request, table.external[metric], MAPPING)


def test_an_external_metric_is_restricted_to_the_namespace_of_the_request(table):
    assert external(table, "queue_depth").plan.query == 'sum(queue_depth{ns="shop"})'


def test_a_named_external_metric_is_everybodys_unless_rows_have_a_namespace(table):
    assert external(table, "backlog").rows.where == ()
    assert external(table, "tenant_backlog").rows.where == (("namespace", "shop"),)


def test_a_selector_without_promql_is_an_internal_error_as_in_prometheus_adapter(table):
    with pytest.raises(StatusError, match=r"externalRules\[0\]: label 'code'") as refused:
        external(table, "queue_depth", [("labelSelector", "code>5")])
    assert refused.value.code == 500


def test_discovery_lists_metrics_under_their_resource(table):
    listed = resource_lists.custom_resources(sorted(table.custom), "v1beta2")
    assert listed.group_version == "custom.metrics.k8s.io/v1beta2"
    assert ("fleets.example.com/ships", False) in [
        (each.name, each.namespaced) for each in listed.resources
    ]
    assert [each.name for each in resource_lists.external_resources(["a"]).resources] == ["a"]


@pytest.mark.deviation("unsafe-names")
@pytest.mark.parametrize(
    ("name", "is_offered"),
    [
        ('x or secret{namespace="victim"} or x', False),
        ("secret-x", False),
        ("secret/x", False),
        ("x\n", False),
        ("http.server.duration", True),
        ("namespace:requests_total:rate5m", True),
    ],
)
def test_a_series_is_offered_only_if_its_name_cannot_change_the_query(name, is_offered):
    known = {(BackendRef(), "web"): [Series(name, frozenset({"pod", "namespace"}))]}
    found = offers(parse_configuration(CONFIGURATION).rules, known, MAPPING)
    served = [offer for offer in found.custom.values() if offer.series == name]
    assert bool(served) == is_offered
    reported = [each for problems in found.problems.values() for each in problems]
    assert any("which could change the query" in each for each in reported) != is_offered


ONE_NAME = """
rules:
- seriesQuery: web
  resources: {template: "<<.Resource>>"}
  name: {matches: "^(?:app_)?(.*?)(?:_seconds)?_total$", as: "$1"}
  metricsQuery: <<.Series>>
externalRules:
- seriesQuery: web
  resources: {template: "<<.Resource>>"}
  name: {matches: "^(?:app_)?(.*?)(?:_seconds)?_total$", as: "$1"}
  metricsQuery: <<.Series>>
"""


@pytest.mark.deviation("several-series-of-one-metric")
@pytest.mark.parametrize("newcomer", ["requests_seconds_total", "app_requests_total"])
@pytest.mark.parametrize("reverse", [False, True], ids=["listed last", "listed first"])
def test_a_longer_name_does_not_replace_the_series_of_a_metric(newcomer, reverse):
    names = ["requests_total", newcomer][:: -1 if reverse else 1]
    known = {(BackendRef(), "web"): [Series(each, frozenset({"pod"})) for each in names]}
    found = offers(parse_configuration(ONE_NAME).rules, known, MAPPING)
    assert found.custom[MetricEntry(PODS, True, "requests")].series == "requests_total"
    assert found.external["requests"].series == "requests_total"
    assert found.collisions == {
        rule: {"requests": ("requests_total", newcomer)}
        for rule in ("rules[0]", "externalRules[0]")
    }


def test_of_names_with_one_length_the_last_one_counts_as_in_a_sorted_response():
    same = ONE_NAME.replace("$1", "one")
    for names in (("A_total", "a_total"), ("a_total", "A_total")):
        known = {(BackendRef(), "web"): [Series(each, frozenset({"pod"})) for each in names]}
        found = offers(parse_configuration(same).rules, known, MAPPING)
        assert found.external["one"].series == "a_total"


def test_another_series_of_a_later_rule_is_a_collision_and_the_same_series_is_none():
    rule = "- {seriesQuery: NAME, name: {as: a}, resources: {template: <<.Resource>>}, metricsQuery: <<.Series>>}"
    rules = parse_configuration(
        "rules:\n" + "\n".join(rule.replace("NAME", each) for each in ("x", "x", "y"))
    ).rules
    known = {
        (BackendRef(), "x"): [Series("x", frozenset({"pod"}))],
        (BackendRef(), "y"): [Series("y", frozenset({"pod"}))],
    }
    assert offers(rules, known, MAPPING).collisions == {"rules[2]": {"a": ("y", "x")}}
    assert offers(rules[:2], known, MAPPING).collisions == {}
