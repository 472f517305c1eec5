"""Which PromQL has the load of a metric, by what the adapter explains."""

import msgspec
import pytest

from scaler.api.autoscaler import MetricSpec
from scaler.cluster.forecast.load_query import (
    Explained,
    ExplainedQuery,
    ExplainedRequest,
    NoRecordedLoad,
    load_query,
    metric_path,
    per_replica_of,
    query_of,
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
            "another request",
            id="another namespace",
        ),
        pytest.param(
            Explained(code=200, request=ExplainedRequest(name="shop"), queries=(UP,)),
            "another request",
            id="no namespace",
        ),
        pytest.param(
            Explained(
                code=200, request=ExplainedRequest(namespace="shop", name="*"), queries=(UP,)
            ),
            "another request",
            id="every object",
        ),
        pytest.param(
            Explained(code=200, queries=(UP,)), "another request", id="an unknown request"
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
    assert await load_query(adapter, MAPPER, "shop", external()) == "sum((up))"
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%3Alen"
    assert adapter.requests == [("/debug/explain", {"path": path})]


@pytest.mark.parametrize("response", [b"<html>", b"{}", Unavailable("it is away")])
async def test_an_adapter_that_does_not_explain_is_a_reason(response):
    with pytest.raises(NoRecordedLoad, match="the adapter does not explain the metric: "):
        await load_query(Adapter(response), MAPPER, "shop", external())


async def test_every_object_of_a_kind_is_not_requested():
    adapter = Adapter(b"{}")
    of = of_object("Ingress", "networking.k8s.io/v1", "*")
    with pytest.raises(NoRecordedLoad, match=r"describedObject\.name '\*'.*name it"):
        await load_query(adapter, MAPPER, "shop", of)
    assert adapter.requests == []


async def test_an_unknown_kind_is_a_reason():
    of = of_object("Rollout", "argoproj.io/v1", "web")
    with pytest.raises(NoRecordedLoad, match="does not explain"):
        await load_query(Adapter(b"{}"), MAPPER, "shop", of)


def test_only_external_and_object_metrics_have_a_warm_start():
    assert why_not_recorded(external()) is None
    assert why_not_recorded(of_object("Ingress", "networking.k8s.io/v1", "main")) is None
    assert "type Pods has no warm start" in why_not_recorded(PODS)


def test_a_replica_is_to_have_the_average_value_of_the_target():
    assert per_replica_of(external()) == 1.5
