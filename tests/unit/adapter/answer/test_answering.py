"""From a request to its document; every failure says what to do."""

import math

import pytest
from prometheus_client import REGISTRY

from adapter.answer import ActiveConfiguration, Answers
from adapter.documents.refusals import QUERY_SHOWN_MAX
from adapter.fetch.catalog import DiscoveredCatalog, Times
from adapter.model import (
    NODES,
    PODS,
    CustomMetricRequest,
    DiscoveryRule,
    Evaluation,
    ExternalMetricRequest,
    Gap,
    GroupResource,
    KubeObject,
    MetricEntry,
    Offer,
    Plan,
    Reaction,
    ResourceLabels,
    ResourceMetricRequest,
    ResourceRule,
    ResourceRules,
    Sample,
    SignalContract,
)
from adapter.ports import QueryFailed
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus, vector
from wire.api import labels
from wire.api.status import StatusError, Unavailable

EVERYTHING = labels.parse("")
DISCOVERED = SignalContract(
    on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT
)
RULE = DiscoveryRule(
    path="rules[0]",
    external=False,
    series_query="requests_total",
    resources=ResourceLabels(template="<<.Resource>>"),
    metrics_query="sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)",
    contract=DISCOVERED,
)
EXTERNAL = DiscoveryRule(
    path="externalRules[0]",
    external=True,
    series_query="queue",
    resources=ResourceLabels(template="<<.Resource>>"),
    metrics_query="sum(<<.Series>>{<<.LabelMatchers>>})",
    contract=DISCOVERED,
)
REQUESTS = MetricEntry(PODS, True, "requests")
OF_WEB = 'sum(rate(requests_total{namespace="shop",pod=~"web-1|web-2"}[1m])) by (pod)'
OF_ONE = 'sum(rate(requests_total{namespace="shop",pod="web-1"}[1m])) by (pod)'
OBJECTS = {
    PODS: [
        KubeObject(name="web-2", namespace="shop", labels={"app": "web"}),
        KubeObject(name="web-1", namespace="shop", labels={"app": "web"}),
        KubeObject(name="db-1", namespace="shop", labels={"app": "db"}),
    ],
    NODES: [KubeObject(name="node-1")],
}
RESOURCE_RULES = ResourceRules(
    cpu=ResourceRule(
        path="resourceRules.cpu",
        container_query="cpu{<<.LabelMatchers>>}",
        node_query="node_cpu{<<.LabelMatchers>>}",
        resources=ResourceLabels(template="<<.Resource>>"),
        container_label="container",
    ),
    memory=ResourceRule(
        path="resourceRules.memory",
        container_query="memory{<<.LabelMatchers>>}",
        node_query="node_memory{<<.LabelMatchers>>}",
        resources=ResourceLabels(template="<<.Resource>>"),
        container_label="container",
    ),
    window_seconds=60.0,
)


def custom(name: str = "*", selector: str = "app=web", **changes: object) -> CustomMetricRequest:
    settings = {
        "resource": PODS,
        "name": name,
        "metric": "requests",
        "namespace": "shop",
        "selector": labels.parse(selector),
        "metric_selector": EVERYTHING,
        **changes,
    }
    return CustomMetricRequest(**settings)


def external(metric: str = "queue", namespace: str = "shop") -> ExternalMetricRequest:
    return ExternalMetricRequest(namespace=namespace, metric=metric, selector=EVERYTHING)


def answers(prometheus=None, objects=None, catalog=None, now_seconds=1_000.0) -> Answers:
    return Answers(
        evaluator=prometheus or FakePrometheus(),
        objects=objects or FakeObjects(OBJECTS),
        mapping=FakeMapping(),
        active=ActiveConfiguration(
            catalog=catalog
            or FakeCatalog(
                {REQUESTS: Offer(RULE, "requests_total")}, {"queue": Offer(EXTERNAL, "queue")}
            ),
            resource_rules=RESOURCE_RULES,
        ),
        now=lambda: now_seconds,
        monotonic=lambda: now_seconds,
    )


async def refusal(asking) -> StatusError:
    with pytest.raises(StatusError) as refused:
        await asking
    return refused.value


async def test_the_objects_behind_a_selector_are_queried_together():
    prometheus = FakePrometheus({OF_WEB: vector(({"pod": "web-1"}, 1.5), ({"pod": "web-2"}, 0.25))})
    found = await answers(prometheus).custom(custom())
    assert [(item.described_object.name, item.value) for item in found.items] == [
        ("web-1", "1500m"),
        ("web-2", "250m"),
    ]
    assert prometheus.requested == [Plan(OF_WEB)]


async def test_the_age_of_the_oldest_sample_and_the_query_that_returned_it_are_counted():
    api = {"api": "custom.metrics.k8s.io"}

    def counted():
        value = REGISTRY.get_sample_value
        return (
            value("loadline_adapter_served_sample_age_seconds_sum", api),
            value("loadline_adapter_served_sample_age_seconds_count", api),
            value("loadline_adapter_answers_total", {"query": "own"}),
        )

    seconds, count, own = counted()
    rows = FakePrometheus({OF_WEB: vector(({"pod": "web-1"}, 1.5), ({"pod": "web-2"}, 0.25))})
    found = await answers(rows, now_seconds=1_007.0).custom(custom())
    assert {item.timestamp.timestamp() for item in found.items} == {1_000.0}
    assert counted() == (seconds + 7, count + 1, own + 1)


async def test_a_named_object_is_not_read_from_the_cluster():
    prometheus = FakePrometheus({OF_ONE: vector(({"pod": "web-1"}, 1.0))})
    found = await answers(prometheus, FakeObjects({})).custom(custom("web-1"))
    assert [item.value for item in found.items] == ["1"]


async def test_any_spelling_of_a_resource_finds_the_metric():
    prometheus = FakePrometheus({OF_ONE: vector(({"pod": "web-1"}, 1.0))})
    assert await answers(prometheus).custom(custom("web-1", resource=GroupResource("pod")))


async def test_an_external_metric_is_queried_in_its_namespace():
    prometheus = FakePrometheus({'sum(queue{namespace="shop"})': vector(({}, 7.0))})
    found = await answers(prometheus).external(external())
    assert [item.value for item in found.items] == ["7"]


@pytest.mark.deviation("refusals-say-why")
@pytest.mark.parametrize(
    ("request_", "begins", "hint"),
    [
        pytest.param(
            custom(metric="nothing"),
            "the server could not find the metric nothing for pods: ",
            "add a rule",
            id="no rule",
        ),
        pytest.param(
            custom("node-1", resource=NODES, namespace=""),
            "the server could not find the metric requests for nodes: ",
            "the metric exists for pods",
            id="another resource",
        ),
        pytest.param(
            custom("x", resource=GroupResource("unicorns", "example.com")),
            "the server could not find the metric requests for unicorns.example.com: ",
            "the cluster serves no resource unicorns.example.com",
            id="no such resource",
        ),
        pytest.param(
            custom(selector="app=absent"),
            "the server could not find the metric requests for pods: ",
            "no object matches the label selector 'app=absent'",
            id="no object",
        ),
    ],
)
async def test_an_unknown_metric_is_404_and_says_what_is_missing(request_, begins, hint):
    refused = await refusal(answers().custom(request_))
    assert (refused.code, refused.reason) == (404, "NotFound")
    assert refused.message.startswith(begins)
    assert hint in refused.message


@pytest.mark.deviation("not-found-before-listing")
async def test_an_unknown_metric_starts_no_watch_of_the_resource():
    class NoObjects:
        async def objects(self, resource, *, namespace, selector):
            raise AssertionError("the cluster was queried")

        running_pods = objects

    await refusal(answers(objects=NoObjects()).custom(custom(metric="nothing")))


@pytest.mark.parametrize(
    ("namespace", "subject"), [("default", "namespaces"), ("shop", "")], ids=["default", "other"]
)
async def test_an_unknown_external_metric_has_the_error_of_prometheus_adapter(namespace, subject):
    refused = await refusal(answers().external(external("nothing", namespace)))
    assert refused.code == 404
    assert refused.message.startswith(
        f"the server could not find the metric nothing for {subject}: "
    )


@pytest.mark.deviation("rules-fail-alone")
@pytest.mark.parametrize(("temporary", "code"), [(True, 503), (False, 404)])
async def test_a_rule_that_is_not_known_yet_is_named(temporary, code):
    gap = Gap(rule="rules[3]", cause="connection refused", temporary=temporary)
    refused = await refusal(answers(catalog=FakeCatalog(gaps=[gap])).custom(custom()))
    assert refused.code == code
    assert "rules[3] are not known: connection refused" in refused.message


async def test_the_words_of_prometheus_about_a_selector_are_not_for_everyone():
    gap = Gap(
        rule="rules[3]",
        cause="bad_data: unexpected secret",
        public_cause="bad_data",
        temporary=False,
    )
    refused = await refusal(answers(catalog=FakeCatalog(gaps=[gap])).custom(custom()))
    assert "rules[3] are not known: bad_data" in refused.message
    assert "secret" not in refused.message
    assert "unexpected secret" in refused.in_full.message


@pytest.mark.deviation("refusals-say-why")
@pytest.mark.parametrize("retryable", [True, False])
async def test_a_failure_of_prometheus_is_500_and_names_query_and_cause(retryable):
    down = QueryFailed(backend="default", query=OF_ONE, cause="it is down", retryable=retryable)
    refused = await refusal(answers(FakePrometheus({OF_ONE: down})).custom(custom("web-1")))
    assert refused.code == 500
    assert refused.message.startswith("Internal error occurred: unable to fetch metrics: rules[0]")
    assert "sum(" not in refused.message
    assert "it is down" in refused.message
    assert repr(OF_ONE) in refused.in_full.message
    assert "it is down" in refused.in_full.message


async def test_the_words_of_prometheus_about_a_query_are_not_for_everyone():
    cause = "execution: found duplicate series for {namespace='other'}"
    wrong = QueryFailed(backend="default", query=OF_ONE, cause=cause, retryable=False, quotes=True)
    refused = await refusal(answers(FakePrometheus({OF_ONE: wrong})).custom(custom("web-1")))
    assert "did not answer the query: execution; " in refused.message
    assert "other" not in refused.message
    assert cause in refused.in_full.message


async def test_a_query_over_a_thousand_pods_is_shown_in_part():
    many = [
        KubeObject(name=f"web-{n}", namespace="shop", labels={"app": "web"}) for n in range(1000)
    ]
    refused = await refusal(answers(objects=FakeObjects({PODS: many})).custom(custom()))
    assert len(refused.in_full.message) < 2 * QUERY_SHOWN_MAX
    assert "characters)" in refused.in_full.message


async def test_objects_that_cannot_be_listed_are_500_with_the_cause():
    class Forbidden:
        async def objects(self, resource, *, namespace, selector):
            raise Unavailable("pods is forbidden")

        running_pods = objects

    refused = await refusal(answers(objects=Forbidden()).custom(custom()))
    assert refused.code == 500
    assert "unable to list matching resources: pods: pods is forbidden" in refused.message


async def test_an_unknown_resource_behind_a_selector_is_500_as_in_prometheus_adapter():
    refused = await refusal(answers().custom(custom(resource=GroupResource("unicorns"))))
    assert refused.code == 500
    assert "unable to list matching resources" in refused.message


USAGE = {
    'cpu{namespace="shop",pod=~"db-1|web-1|web-2"}': vector(
        ({"pod": "web-1", "container": "app"}, 0.25), ({"pod": "web-2", "container": "app"}, 0.5)
    ),
    'memory{namespace="shop",pod=~"db-1|web-1|web-2"}': vector(
        ({"pod": "web-1", "container": "app"}, 1024.0)
    ),
    'node_cpu{node="node-1"}': vector(({"node": "node-1"}, 2.0)),
    'node_memory{node="node-1"}': vector(({"node": "node-1"}, 2048.0)),
    'cpu{namespace="shop",pod="db-1"}': vector(),
    'memory{namespace="shop",pod="db-1"}': vector(),
}


def usage_of(resource: GroupResource, **more: object) -> ResourceMetricRequest:
    return ResourceMetricRequest(resource=resource, selector=EVERYTHING, **more)


async def test_pods_without_both_figures_are_left_out_of_a_list():
    found = await answers(FakePrometheus(USAGE)).usage(usage_of(PODS))
    assert [item.metadata.name for item in found.items] == ["web-1"]
    assert found.items[0].containers[0].usage == {"cpu": "250m", "memory": "1Ki"}


@pytest.mark.deviation("order-of-lists")
@pytest.mark.parametrize("names", [("app", "proxy"), ("proxy", "app")])
async def test_containers_are_in_the_order_of_their_samples(names):
    query = 'cpu{namespace="shop",pod="db-1"}'
    samples = vector(*(({"pod": "db-1", "container": name}, 1.0) for name in names))
    usage = FakePrometheus({query: samples, query.replace("cpu", "memory"): samples})
    found = await answers(usage).usage(usage_of(PODS, namespace="shop", name="db-1"))
    assert tuple(each.name for each in found.containers) == names


async def test_one_node_is_a_document_of_its_own_kind():
    found = await answers(FakePrometheus(USAGE)).usage(usage_of(NODES, name="node-1"))
    assert (found.kind, found.api_version) == ("NodeMetrics", "metrics.k8s.io/v1beta1")
    assert found.usage == {"cpu": "2", "memory": "2Ki"}


@pytest.mark.parametrize(("name", "why"), [("gone", "not found"), ("db-1", "no cpu or no memory")])
async def test_one_pod_without_figures_is_404(name, why):
    requested = usage_of(PODS, namespace="shop", name=name)
    refused = await refusal(answers(FakePrometheus(USAGE)).usage(requested))
    assert refused.code == 404
    assert why in refused.message


@pytest.mark.parametrize(
    ("value", "is_histogram", "why"),
    [
        pytest.param(math.inf, False, "its cpu usage in Prometheus is inf", id="infinite"),
        pytest.param(math.nan, True, "is a native histogram", id="histogram"),
    ],
)
async def test_the_404_of_a_pod_says_which_usage_cannot_be_served(value, is_histogram, why):
    sample = Sample({"pod": "db-1", "container": "app"}, value, 1_000.0, is_histogram=is_histogram)
    query = 'cpu{namespace="shop",pod="db-1"}'
    usage = {
        query: Evaluation(samples=(sample,), evaluated_at_seconds=1_000.0),
        query.replace("cpu", "memory"): vector(({"pod": "db-1", "container": "app"}, 1.0)),
    }
    requested = usage_of(PODS, namespace="shop", name="db-1")
    refused = await refusal(answers(FakePrometheus(usage)).usage(requested))
    assert refused.code == 404
    assert why in refused.message
    assert "no cpu or no memory" not in refused.message


async def test_a_namespace_whose_query_fails_is_left_out_of_the_list_of_all_pods(caplog):
    """As in prometheus-adapter: `kubectl top pods -A` must not show nothing because of one namespace."""
    pods = [*OBJECTS[PODS], KubeObject(name="job-1", namespace="batch", labels={})]
    found = await answers(FakePrometheus(USAGE), FakeObjects({PODS: pods})).usage(usage_of(PODS))
    assert [item.metadata.name for item in found.items] == ["web-1"]
    assert "namespace batch" in caplog.text


@pytest.mark.deviation("usage-errors")
async def test_a_failure_of_prometheus_is_not_an_empty_list_of_usage():
    refused = await refusal(answers(FakePrometheus()).usage(usage_of(PODS)))
    assert refused.code == 500
    assert "resourceRules.cpu" in refused.message


async def test_before_the_first_configuration_nothing_is_served():
    empty = Answers(
        evaluator=FakePrometheus(),
        objects=FakeObjects({}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(
            catalog=DiscoveredCatalog((), FakePrometheus(), FakeMapping(), Times())
        ),
    )
    assert (await refusal(empty.custom(custom()))).code == 404
    assert (await refusal(empty.external(external()))).code == 404
    assert list(empty.active.catalog.custom_entries()) == []
    assert list(empty.active.catalog.external_metrics()) == []
