"""Which PromQL has the load of a metric, by what the adapter explains."""

import msgspec
import pytest

from scaler.api.autoscaler import CrossVersionObjectReference, MetricSpec
from scaler.cluster.forecast.load_query import (
    Explained,
    ExplainedQuery,
    ExplainedRequest,
    ExplainedRow,
    ExplainedValue,
    NoRecordedLoad,
    load_query,
    metric_path,
    per_replica_of,
    query_of,
    query_of_pods,
    why_not_recorded,
)
from tests.fakes.scaler import FakeMapper, resource
from wire.api.status import Unavailable

MAPPER = FakeMapper(resource("networking.k8s.io", "v1", "ingresses", "Ingress"))
AVERAGE = {"type": "AverageValue", "averageValue": "1500m"}


def metric(type_, field, **source):
    document = {"type": type_, "name": "load", field: {"target": AVERAGE, **source}}
    return msgspec.convert(document, MetricSpec)


def external(**identifier):
    return metric("External", "external", metric={"name": "queue:len", **identifier})


def of_object(kind, api_version, name):
    described = {"kind": kind, "apiVersion": api_version, "name": name}
    return metric("Object", "object", metric={"name": "requests"}, describedObject=described)


UP = ExplainedQuery(backend="default", query="up")
OF_SHOP = ExplainedRequest(namespace="shop")
PODS = metric("Pods", "pods", metric={"name": "requests"})
WEB = CrossVersionObjectReference(kind="Deployment", name="web", api_version="apps/v1")
SELECTED = external(selector={"matchLabels": {"queue": "mail"}})


@pytest.mark.parametrize(
    ("of", "path"),
    [
        pytest.param(
            external(),
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%3Alen",
            id="external",
        ),
        pytest.param(
            SELECTED,
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%3Alen?labelSelector=queue%3Dmail",
            id="selector",
        ),
        pytest.param(
            of_object("Ingress", "networking.k8s.io/v1", "main"),
            "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/ingresses.networking.k8s.io/main/requests",
            id="object",
        ),
        pytest.param(
            of_object("Namespace", "v1", "other"),
            "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/requests",
            id="namespace",
        ),
        pytest.param(
            PODS, "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/%2A/requests", id="pods"
        ),
    ],
)
def test_the_path_is_that_of_the_request_of_a_reconcile(of, path):
    assert metric_path(MAPPER, "shop", of) == path


@pytest.mark.parametrize(
    ("labels", "promql"),
    [
        pytest.param({}, "sum((up > 0))", id="a query of its own"),
        pytest.param(
            {"namespace": 'sh"op'},
            r'sum(((up > 0) and on (namespace) label_replace(vector(1), "namespace", "sh\"op", "", "")))',
            id="a query for all namespaces",
        ),
    ],
)
def test_the_load_is_the_sum_of_the_rows_that_belong_to_the_request(labels, promql):
    query = ExplainedQuery(backend="default", query="up > 0", row_labels=labels)
    assert query_of(Explained(code=200, request=OF_SHOP, queries=(query,)), "shop") == promql


@pytest.mark.parametrize(
    ("explained", "problem"),
    [
        pytest.param(Explained(code=404, message="no such metric"), "no such metric", id="404"),
        pytest.param(Explained(code=200), "does not explain", id="no query"),
        pytest.param(
            Explained(
                code=200,
                request=OF_SHOP,
                queries=(ExplainedQuery(backend="thanos", query="up"),),
            ),
            "backend thanos",
            id="another Prometheus",
        ),
        pytest.param(
            Explained(code=200, request=ExplainedRequest(namespace="bank"), queries=(UP,)),
            "is not for a metric in the namespace",
            id="another namespace",
        ),
        pytest.param(
            Explained(code=200, request=ExplainedRequest(name="shop"), queries=(UP,)),
            "is not for a metric in the namespace",
            id="no namespace",
        ),
        pytest.param(
            Explained(
                code=200, request=ExplainedRequest(namespace="shop", name="*"), queries=(UP,)
            ),
            "is not for a metric in the namespace",
            id="every object",
        ),
        pytest.param(
            Explained(code=200, queries=(UP,)),
            "is not for a metric in the namespace",
            id="an unknown request",
        ),
    ],
)
def test_what_is_not_the_load_of_the_metric_is_not_used(explained, problem):
    with pytest.raises(NoRecordedLoad, match=problem):
        query_of(explained, "shop")


class Adapter:
    """Explains, or fails."""

    def __init__(self, response):
        self.response = response
        self.requests = []

    async def get(self, path, params=None, *, accept=""):
        self.requests.append((path, params))
        if isinstance(self.response, Exception):
            raise self.response
        return self.response


async def test_the_running_adapter_explains_about_the_path_of_the_metric():
    adapter = Adapter(
        b'{"code": 200, "request": {"namespace": "shop"}, "queries": [{"backend": "default", "query": "up"}]}'
    )
    assert await load_query(adapter, MAPPER, "shop", external(), WEB) == "sum((up))"
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%3Alen"
    assert adapter.requests == [("/debug/explain", {"path": path})]


@pytest.mark.parametrize("response", [b"<html>", b"{}", Unavailable("it is away")])
async def test_an_adapter_that_does_not_explain_is_a_reason(response):
    with pytest.raises(NoRecordedLoad, match="the adapter does not explain the metric: "):
        await load_query(Adapter(response), MAPPER, "shop", external(), WEB)


async def test_every_object_of_a_kind_is_not_requested():
    adapter = Adapter(b"{}")
    of = of_object("Ingress", "networking.k8s.io/v1", "*")
    with pytest.raises(NoRecordedLoad, match=r"describedObject\.name '\*'.*set its name"):
        await load_query(adapter, MAPPER, "shop", of, WEB)
    assert adapter.requests == []


async def test_an_unknown_kind_is_a_reason():
    of = of_object("Rollout", "argoproj.io/v1", "web")
    with pytest.raises(NoRecordedLoad, match="does not explain"):
        await load_query(Adapter(b"{}"), MAPPER, "shop", of, WEB)


def test_usage_and_pods_of_other_kinds_of_targets_have_no_warm_start():
    cpu = metric("Resource", "resource", name="cpu")
    rollout = CrossVersionObjectReference(kind="Rollout", name="web", api_version="argoproj.io/v1")
    assert why_not_recorded(external(), rollout) is None
    assert why_not_recorded(of_object("Ingress", "networking.k8s.io/v1", "main"), rollout) is None
    assert why_not_recorded(PODS, WEB) is None
    assert "type Resource cannot be learned" in why_not_recorded(cpu, WEB)
    assert "the recorded pods of a Rollout cannot be recognized" in why_not_recorded(PODS, rollout)


POD_ROWS = tuple(
    ExplainedRow(labels={"namespace": "shop", "pod": pod}) for pod in ("web-1", "api-1")
)
BY_POD = ExplainedQuery(
    backend="default",
    query="sum by (namespace, pod) (load)",
    row_labels={"namespace": "shop"},
    rows=POD_ROWS,
)
OF_PODS = Explained(
    code=200,
    request=ExplainedRequest(resource="pods", namespace="shop", name="*"),
    queries=(BY_POD,),
    values=(ExplainedValue(of="web-1"), ExplainedValue(of="api-1")),
)


def test_the_load_of_pods_is_the_sum_of_the_rows_of_the_pods_of_the_target_at_any_time():
    stateful = CrossVersionObjectReference(kind="StatefulSet", name="web", api_version="apps/v1")
    rows = '((sum by (namespace, pod) (load)) and on (namespace) label_replace(vector(1), "namespace", "shop", "", ""))'
    assert query_of_pods(OF_PODS, "shop", stateful) == (
        f'sum((label_replace({rows}, "loadline_pod_of_target", "1", "pod", "web-[0-9]+") '
        'and on (loadline_pod_of_target) label_replace(vector(1), "loadline_pod_of_target", "1", "", "")))'
    )


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        pytest.param(
            {"query": 'sum(load{pod=~"web-1|api-1"}) by (pod)'},
            "lists the pods that exist now",
            id="names pods",
        ),
        pytest.param(
            {"row_labels": {}}, "no label with the namespace", id="rows of every namespace"
        ),
        pytest.param(
            {"rows": POD_ROWS[:1] * 2}, "no label that names one pod each", id="two rows of a pod"
        ),
        pytest.param({"backend": "thanos"}, "backend thanos", id="another Prometheus"),
    ],
)
def test_rows_that_are_not_those_of_pods_at_any_time_are_not_used(query, problem):
    other = msgspec.structs.replace(BY_POD, **query)
    with pytest.raises(NoRecordedLoad, match=problem):
        query_of_pods(msgspec.structs.replace(OF_PODS, queries=(other,)), "shop", WEB)


@pytest.mark.parametrize(
    "request_of",
    [
        ExplainedRequest(resource="pods", namespace="bank", name="*"),
        ExplainedRequest(resource="services", namespace="shop", name="*"),
        None,
    ],
)
def test_rows_of_another_request_than_for_the_pods_of_the_namespace_are_not_used(request_of):
    other = msgspec.structs.replace(OF_PODS, request=request_of)
    with pytest.raises(NoRecordedLoad, match="is not for a metric in the namespace"):
        query_of_pods(other, "shop", WEB)


def test_a_replica_is_to_have_the_average_value_of_the_target():
    assert per_replica_of(external()) == 1.5
    assert per_replica_of(PODS) == 1.5
