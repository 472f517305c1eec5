"""Paths, codes and documents, over a real HTTP connection to handlers with prepared evaluations."""

import json

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request
from prometheus_client import REGISTRY

from adapter import telemetry
from adapter.answer import ActiveConfiguration, Answers, MetricPaths
from adapter.model import PODS, KubeObject, MetricEntry, Offer
from adapter.ports import QueryFailed
from adapter.serve.app import MetricsAPI, check_representation, check_timeouts, count_requests
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus, vector
from tests.unit.adapter.answer.test_answering import EXTERNAL, RESOURCE_RULES, RULE
from wire.api.status import StatusError
from wire.kube.mapper import AGGREGATED
from wire.serving.access_guard import errors_to_status
from wire.serving.rendering import ACCEPT_LENGTH_MAX

CUSTOM = "/apis/custom.metrics.k8s.io"
EXTERNAL_V1 = "/apis/external.metrics.k8s.io/v1beta1"
GROUPS = ("custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io")
DOWN = QueryFailed(backend="default", query="q", cause="it is down", retryable=True)

REFUSED = QueryFailed(
    backend="default",
    query="q",
    cause="bad_data: parse error near password",
    retryable=False,
    quotes=True,
)


def prepared(groups: tuple[str, ...] = GROUPS) -> Answers:
    prometheus = FakePrometheus(
        {
            'sum(rate(requests_total{namespace="shop",pod=~"web-1"}[1m])) by (pod)': vector(
                ({"pod": "web-1"}, 1.5)
            ),
            'sum(rate(requests_total{namespace="shop",pod="web-1"}[1m])) by (pod)': vector(
                ({"pod": "web-1"}, 1.5)
            ),
            'sum(queue{namespace="shop"})': vector(({"queue": "mail"}, 12.0)),
            'sum(queue{namespace="down"})': DOWN,
            'sum(queue{namespace="refused"})': REFUSED,
        }
    )
    catalog = FakeCatalog(
        {MetricEntry(PODS, True, "requests"): Offer(RULE, "requests_total")},
        {"queue": Offer(EXTERNAL, "queue")},
    )
    web_1 = KubeObject(name="web-1", namespace="shop", labels={"app": "web"})
    return Answers(
        evaluator=prometheus,
        objects=FakeObjects({PODS: [web_1]}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(catalog=catalog, groups=groups, resource_rules=RESOURCE_RULES),
        now=lambda: 1_000.0,
        monotonic=lambda: 1_000.0,
    )


@pytest.fixture
def answers():
    return prepared()


@pytest.fixture
async def client(answers):
    app = web.Application(middlewares=[count_requests, errors_to_status, check_timeouts])
    MetricsAPI(answers, MetricPaths(lambda: answers.active), version="1.2.3").add_routes(app)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.mark.deviation("custom-timestamps")
async def test_one_object_is_rendered_in_the_requested_version(client):
    older = await (await client.get(f"{CUSTOM}/v1beta1/namespaces/shop/pods/web-1/requests")).json()
    newer = await (await client.get(f"{CUSTOM}/v1beta2/namespaces/shop/pods/web-1/requests")).json()
    described = {"kind": "Pod", "namespace": "shop", "name": "web-1", "apiVersion": "/v1"}
    assert older == {
        "kind": "MetricValueList",
        "apiVersion": "custom.metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [
            {
                "describedObject": described,
                "metricName": "requests",
                "timestamp": "1970-01-01T00:16:40Z",
                "value": "1500m",
                "selector": None,
            }
        ],
    }
    assert newer["apiVersion"] == "custom.metrics.k8s.io/v1beta2"
    assert newer["items"][0]["metric"] == {"name": "requests", "selector": None}


@pytest.mark.parametrize("star", ["*", "%2A"])
async def test_a_star_means_the_objects_of_a_selector(client, star):
    path = f"{CUSTOM}/v1beta1/namespaces/shop/pods/{star}/requests?labelSelector=app%3Dweb"
    found = await (await client.get(path)).json()
    assert [item["describedObject"]["name"] for item in found["items"]] == ["web-1"]


async def test_an_external_metric_is_answered_with_its_labels(client):
    found = await (await client.get(f"{EXTERNAL_V1}/namespaces/shop/queue")).json()
    assert found["kind"] == "ExternalMetricValueList"
    assert found["items"][0]["metricLabels"] == {"queue": "mail"}
    assert found["items"][0]["value"] == "12"


REFUSALS = [
    pytest.param("GET", f"{CUSTOM}/v1beta1/namespaces/shop/pods/web-1/no", 404, id="metric"),
    pytest.param("GET", f"{CUSTOM}/v1beta1/namespaces/shop/requests", 400, id="path too short"),
    pytest.param("GET", f"{CUSTOM}/v1beta1/namespaces/shop/pods/*/requests?labelSelector=%3D", 400, id="selector"),
    pytest.param("GET", f"{CUSTOM}/v1beta1/namespaces/shop/pods/*/requests?metricLabelSelector=%3D", 500, id="metric selector"),
    pytest.param("GET", f"{EXTERNAL_V1}/namespaces/down/queue", 500, id="Prometheus is down"),
    pytest.param("GET", f"{EXTERNAL_V1}/namespaces/shop/queue?watch=true", 405, id="watch"),
    pytest.param("POST", f"{CUSTOM}/v1beta1/namespaces/shop/pods/web-1/requests", 405, id="POST"),
    pytest.param("DELETE", f"{EXTERNAL_V1}/namespaces/shop/queue", 405, id="DELETE"),
    pytest.param("GET", "/apis?timeout=x", 400, id="timeout of the groups"),
    pytest.param("GET", f"{CUSTOM}?timeout=1", 400, id="timeout of a group"),
    pytest.param("POST", f"{CUSTOM}/v1beta1?timeout=-", 400, id="timeout of a list of resources"),
    pytest.param("POST", f"{EXTERNAL_V1}/namespaces/shop/queue?timeout=x", 400, id="timeout before method"),
    pytest.param("GET", "/apis/apps/v1?timeout=x", 400, id="timeout before group"),
    pytest.param("GET", "/nowhere?timeout=x", 400, id="timeout of no path"),
    pytest.param("GET", f"{CUSTOM}/v1", 404, id="version"),
    pytest.param("GET", f"{CUSTOM}/v1/namespaces/shop/pods/web-1/requests", 404, id="metric of no version"),
    pytest.param("GET", "/apis/apps/v1", 404, id="group"),
    pytest.param("GET", "/apis/apps", 404, id="group document"),
    pytest.param("GET", "/openapi/v4", 404, id="OpenAPI of the future"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "code"), REFUSALS)
async def test_every_refusal_is_a_status(client, method, path, code):
    response = await client.request(method, path)
    refused = await response.json()
    assert response.status == code
    assert (refused["kind"], refused["status"], refused["code"]) == ("Status", "Failure", code)
    assert refused["message"]


@pytest.mark.parametrize("may_read", [True, False])
@pytest.mark.parametrize(
    ("namespace", "cause", "secret"),
    [
        pytest.param("down", "it is down", "'q'", id="no response"),
        pytest.param("refused", "bad_data", "near password", id="the words of Prometheus"),
    ],
)
async def test_a_failure_shows_its_query_to_those_who_may_read_the_configuration_only(
    namespace, cause, secret, may_read
):
    async def may_read_configuration(_: web.Request) -> bool:
        return may_read

    answers = prepared()
    app = web.Application(middlewares=[errors_to_status])
    api = MetricsAPI(
        answers,
        MetricPaths(lambda: answers.active),
        version="1",
        may_read_configuration=may_read_configuration,
    )
    api.add_routes(app)
    async with TestClient(TestServer(app)) as client:
        response = await client.get(f"{EXTERNAL_V1}/namespaces/{namespace}/queue")
        refused = await response.json()
    assert cause in refused["message"]
    assert (secret in json.dumps(refused)) is may_read
    assert ("/debug/explain" in refused["message"]) is not may_read


async def test_refusals_of_paths_and_methods_have_empty_details_as_the_generic_servers(client):
    for method, path in (("GET", "/apis/apps/v1"), ("HEAD", CUSTOM), ("PUT", EXTERNAL_V1)):
        response = await client.request(method, path)
        if method != "HEAD":
            assert (await response.json())["details"] == {}
        assert response.status == (404 if method == "GET" else 405)


async def test_a_request_in_an_unknown_format_is_not_sent_to_prometheus(client, answers):
    response = await client.get(
        f"{EXTERNAL_V1}/namespaces/down/queue", headers={"Accept": "text/html"}
    )
    assert response.status == 406


async def test_a_watch_of_a_custom_metric_is_answered_once_as_in_prometheus_adapter(client):
    path = f"{CUSTOM}/v1beta1/namespaces/shop/pods/web-1/requests?watch=true"
    assert (await client.get(path)).status == 200


async def test_groups_and_resources_are_equal_to_those_of_prometheus_adapter(client):
    groups = await (await client.get("/apis")).json()
    assert [group["name"] for group in groups["groups"]] == list(GROUPS)
    custom = await (await client.get(CUSTOM)).json()
    assert (custom["kind"], custom["apiVersion"]) == ("APIGroup", "v1")
    assert [version["version"] for version in custom["versions"]] == ["v1beta1"]
    for version in ("v1beta1", "v1beta2"):
        listed = await (await client.get(f"{CUSTOM}/{version}")).json()
        assert listed["groupVersion"] == f"custom.metrics.k8s.io/{version}"
        assert listed["resources"] == [
            {
                "name": "pods/requests",
                "singularName": "",
                "namespaced": True,
                "kind": "MetricValueList",
                "verbs": ["get"],
            }
        ]
    external = await (await client.get(EXTERNAL_V1)).json()
    assert [(each["name"], each["namespaced"]) for each in external["resources"]] == [
        ("queue", True)
    ]
    usage = await (await client.get("/apis/metrics.k8s.io/v1beta1")).json()
    assert [each["name"] for each in usage["resources"]] == ["nodes", "pods"]


async def test_a_group_without_rules_is_not_there(client, answers):
    answers.active = ActiveConfiguration(catalog=FakeCatalog(), groups=("external.metrics.k8s.io",))
    assert [group["name"] for group in (await (await client.get("/apis")).json())["groups"]] == [
        "external.metrics.k8s.io"
    ]
    assert (await client.get(CUSTOM)).status == 404
    assert (await client.get(f"{CUSTOM}/v1beta1/nodes/n/requests")).status == 404


async def test_a_changed_catalog_is_listed_at_once(client, answers):
    await client.get(EXTERNAL_V1)
    answers.active = ActiveConfiguration(
        catalog=FakeCatalog({}, {"other": Offer(EXTERNAL)}), groups=("external.metrics.k8s.io",)
    )
    listed = await (await client.get(EXTERNAL_V1)).json()
    assert [each["name"] for each in listed["resources"]] == ["other"]


@pytest.mark.parametrize(
    ("accepted", "version"),
    [
        pytest.param(AGGREGATED, "v2", id="v2"),
        pytest.param(AGGREGATED.replace("v=v2", "v=v2beta1"), "v2beta1", id="v2beta1"),
        pytest.param(
            "application/json; v=v2; as=APIGroupDiscoveryList; g=apidiscovery.k8s.io",
            "v2",
            id="parameters in another order",
        ),
    ],
)
async def test_the_aggregated_document_has_usage_and_no_metric(client, accepted, version):
    response = await client.get("/apis", headers={"Accept": f"{accepted},application/json"})
    document = await response.json()
    assert response.headers["Content-Type"] == (
        f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    )
    assert document["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    assert document["kind"] == "APIGroupDiscoveryList"
    assert [each["metadata"]["name"] for each in document["items"]] == ["metrics.k8s.io"]


async def test_the_aggregated_document_is_served_to_an_api_server_that_accepts_nothing_else(client):
    """As kube-apiserver 1.37, which ignores a document of another version."""
    response = await client.get("/apis", headers={"Accept": AGGREGATED})
    assert response.headers["Content-Type"] == AGGREGATED
    assert (await response.json())["apiVersion"] == "apidiscovery.k8s.io/v2"


@pytest.mark.deviation("openapi-without-schemas")
async def test_openapi_documents_are_tagged_and_describe_every_path(client):
    response = await client.get("/openapi/v2")
    tag = response.headers["ETag"]
    document = await response.json()
    assert (document["swagger"], document["definitions"]) == ("2.0", {})
    assert f"{EXTERNAL_V1}/namespaces/{{namespace}}/{{resource}}" in document["paths"]
    operations = [item["get"]["operationId"] for item in document["paths"].values()]
    assert len(set(operations)) == len(operations)
    again = await client.get("/openapi/v2", headers={"If-None-Match": tag})
    assert again.status == 304


async def test_the_openapi_index_leads_to_each_version(client):
    index = await (await client.get("/openapi/v3")).json()
    assert set(index["paths"]) == {
        "apis/custom.metrics.k8s.io/v1beta1",
        "apis/custom.metrics.k8s.io/v1beta2",
        "apis/external.metrics.k8s.io/v1beta1",
        "apis/metrics.k8s.io/v1beta1",
    }
    for entry in index["paths"].values():
        document = await (await client.get(entry["serverRelativeURL"])).json()
        assert document["openapi"] == "3.0.0"
        assert document["paths"]


async def test_yaml_is_returned_to_a_client_that_accepts_it(client):
    path = f"{EXTERNAL_V1}/namespaces/shop/queue"
    response = await client.get(path, headers={"Accept": "application/yaml"})
    assert "metricName: queue" in await response.text()
    assert (await client.get(path, headers={"Accept": "image/png"})).status == 406


async def test_a_bug_is_a_plain_500_without_a_trace(client, answers, caplog):
    answers._evaluator = None
    response = await client.get(f"{EXTERNAL_V1}/namespaces/shop/queue")
    refused = json.loads(await response.text())
    assert response.status == 500
    assert "NoneType" not in refused["message"]
    assert "NoneType" in caplog.text


async def test_requests_are_counted_by_api_and_code(client):
    def counted(code: str) -> float:
        return telemetry.REQUESTS.labels("external.metrics.k8s.io", code)._value.get()

    served, refused = counted("200"), counted("404")
    await client.get(f"{EXTERNAL_V1}/namespaces/shop/queue")
    await client.get(f"{EXTERNAL_V1}/namespaces/shop/nothing")
    await client.get("/apis/made.up.by.a.client/v1")
    assert (counted("200"), counted("404")) == (served + 1, refused + 1)


async def test_the_time_of_each_request_is_counted_by_api(client):
    def counted() -> float:
        name = "loadline_adapter_request_duration_seconds_count"
        return REGISTRY.get_sample_value(name, {"api": "external.metrics.k8s.io"}) or 0.0

    before = counted()
    await client.get(f"{EXTERNAL_V1}/namespaces/shop/queue")
    assert counted() == before + 1


@pytest.mark.parametrize("path", ["/apis", CUSTOM, EXTERNAL_V1, f"{EXTERNAL_V1}/namespaces/shop/q"])
async def test_a_long_accept_header_is_refused_before_it_is_read(client, path):
    """One with a mebibyte of commas took 1.8 s."""
    accepted = f"{AGGREGATED},*/*"
    longest = accepted + "," * (ACCEPT_LENGTH_MAX - len(accepted))
    assert (await client.get("/apis", headers={"Accept": longest})).status == 200
    response = await client.get(path, headers={"Accept": f"{longest},"})
    assert response.status == 406
    assert (await response.json())["message"].startswith("the Accept header has 4097 characters")


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/json;q=0",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "text/html, application/yaml",
        "application/vnd.kubernetes.protobuf",
    ],
)
def test_a_request_that_accepts_a_supported_type_proceeds(accept):
    check_representation(make_mocked_request("GET", "/apis", headers={"Accept": accept}))


@pytest.mark.deviation("usage-in-full")
@pytest.mark.parametrize("accept", ["text/html", "application/*", "application/cbor", "nonsense"])
def test_a_request_that_accepts_no_supported_type_ends_with_406(accept):
    request = make_mocked_request("GET", "/apis", headers={"Accept": accept})
    with pytest.raises(StatusError, match="Available representations: application/json") as refused:
        check_representation(request)
    assert refused.value.code == 406
