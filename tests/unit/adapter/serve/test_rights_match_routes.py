"""What a request is authorized as is what it is served as, however its path is written.

Raw requests on a socket: clients normalize paths before they send them.
"""

import asyncio
import threading
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
import pytest
from aiohttp import web
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter.answer import ActiveConfiguration, KnownRequest, MetricPaths
from adapter.diagnosis.explainer import Explainer
from adapter.model import (
    CustomMetricRequest,
    ExternalMetricRequest,
    GroupResource,
    MetricRequest,
    ResourceMetricRequest,
)
from adapter.serve.app import MetricsAPI
from adapter.serve.explain_endpoint import add_explain_route
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakePrometheus
from wire.api.debug_paths import EXPLAIN
from wire.api.external_metrics import ExternalMetricValueList
from wire.serving.access_guard import admission, errors_to_status, guard
from wire.serving.attributes import Attributes, User
from wire.serving.listener import Listener

GROUPS = ("custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io")


class Answers:
    """Records what is served."""

    def __init__(self) -> None:
        self.active = ActiveConfiguration(catalog=FakeCatalog({}, {}), groups=GROUPS)
        self.served: list[MetricRequest] = []

    async def answer(self, known: KnownRequest, *_: object) -> msgspec.Struct:
        self.served.append(known.request)
        return ExternalMetricValueList(items=[])


class Rights:
    """Authenticates everyone, and records what is authorized."""

    def __init__(self) -> None:
        self.authorized: list[Attributes] = []

    async def authenticate(self, _: web.BaseRequest) -> User:
        return User(name="alice")

    async def authorize(self, _: User, attributes: Attributes, *, address: str = "") -> None:
        self.authorized.append(attributes)


class World:
    """A listener in a loop of its own, and a connection for each request."""

    def __init__(self) -> None:
        self.answers, self.rights = Answers(), Rights()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        admit = admission(self.rights, self.rights)
        app = web.Application(middlewares=[errors_to_status, guard(admit)])
        paths = MetricPaths(lambda: self.answers.active)
        MetricsAPI(self.answers, paths, version="1").add_routes(app)
        explainer = Explainer(self.answers, paths, index=FakePrometheus(), mapping=FakeMapping())
        add_explain_route(app, explainer, self.rights)
        self.listener = Listener(app, drain_seconds=0.1)
        self.run(self.listener.start("127.0.0.1", 0, tls=None))

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10.0)

    def get(self, target: str) -> int:
        self.answers.served.clear()
        self.rights.authorized.clear()
        return self.run(self._get(target))

    def explain(self, target: str) -> int:
        return self.get(f"{EXPLAIN}?path={quote(target, safe='')}")

    async def _get(self, target: str) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.listener.port)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        response = await reader.read()
        writer.close()
        return int(response.split(b" ", 2)[1])

    def close(self) -> None:
        self.run(self.listener.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def attributes_of_served(request: MetricRequest) -> tuple[str, str, GroupResource, str, str]:
    """Group, namespace, resource, name and subresource that the right to `request` needs."""
    if isinstance(request, ExternalMetricRequest):
        return (GROUPS[1], request.namespace, GroupResource.parse(request.metric), "", "")
    if isinstance(request, ResourceMetricRequest):
        names = [each.value for each in request.fields if each.field == "metadata.name"]
        name = request.name or next(iter(names), "")
        return (GROUPS[2], request.namespace, request.resource, name, "")
    assert isinstance(request, CustomMetricRequest)
    if request.resource.resource == "namespaces" and not request.namespace:
        return (GROUPS[0], request.name, GroupResource("metrics", ""), request.metric, "")
    return (GROUPS[0], request.namespace, request.resource, request.name, request.metric)


def agrees(authorized: Attributes, served: MetricRequest) -> bool:
    *wanted, subresource = attributes_of_served(served)
    return (
        authorized.is_resource_request
        and [
            authorized.api_group,
            authorized.namespace,
            GroupResource.parse(authorized.resource),
            authorized.name,
        ]
        == wanted
        and (not subresource or authorized.subresource == subresource)
    )


SEPARATORS = st.sampled_from(["/"] * 12 + ["//", "/%2F", "%2F", "%2f", "/./", "/../", "%252F"])
USUAL_WORDS = "shop pods * metrics queue nodes namespaces web-1 watch proxy status finalize"
ODD_WORDS = (
    ". .. %2e%2e %70ods %2570ods %00 %ff a%2Fb namespaces%2Fshop gr%C3%B6%C3%9Fe a;b a:b %3F %23 #x"
)
WORDS = st.sampled_from([*USUAL_WORDS.split(), *ODD_WORDS.split(), ""])
USUAL = st.sampled_from(
    [
        ["namespaces", "shop", "queue"],
        ["namespaces", "shop", "pods", "*", "hits"],
        ["namespaces", "shop", "metrics", "hits"],
        ["namespaces", "shop", "pods"],
        ["nodes", "*", "load"],
        ["nodes"],
    ]
)
VERSIONED = st.sampled_from([f"{group}/v1beta1" for group in GROUPS])
QUERIES = st.sampled_from(["", "?watch=false", "?limit=1", "?labelSelector=a%3Db", "?a=%252F"])


@st.composite
def targets(draw: st.DrawFn) -> str:
    parts = draw(st.one_of(USUAL, st.lists(WORDS, max_size=7)))
    position = draw(st.integers(0, len(parts)))
    if draw(st.booleans()):
        parts = [*parts[:position], draw(WORDS), *parts[position:]]
    text = draw(st.sampled_from(["/apis", "/apis", "/apis", "//apis", "/%61pis", "/apis%2F"]))
    for part in [draw(VERSIONED), *parts]:
        text += draw(SEPARATORS) + part
    return text + draw(st.sampled_from(["", "", "", "/", "//"])) + draw(QUERIES)


@settings(max_examples=200, deadline=None)
@given(target=targets())
@example("/apis/external.metrics.k8s.io/v1beta1//namespaces/shop/queue")
@example("/apis/external.metrics.k8s.io/v1beta1/%2Fnamespaces/shop/queue")
@example("/apis/external.metrics.k8s.io/v1beta1/%2F/namespaces/shop/queue")
@example("/apis/external.metrics.k8s.io/v1beta1/namespaces%2Fshop/queue")
@example("/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods%2F*/hits")
@example("/apis/custom.metrics.k8s.io/v1beta1//namespaces/shop/pods/*/hits")
@example("/apis/custom.metrics.k8s.io/v1beta1/watch/shop/hits")
@example("/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/status/web/hits")
@example("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/status")
def test_a_request_is_served_only_as_what_it_was_authorized_as(world: World, target):
    code = world.get(target)
    assert code < 500, target
    for served in world.answers.served:
        (authorized,) = world.rights.authorized
        assert agrees(authorized, served), (target, authorized, served)


@pytest.mark.deviation("verbs-in-paths")
@pytest.mark.parametrize(
    "path",
    [
        "external.metrics.k8s.io/v1beta1/watch/namespaces/shop/queue",
        "external.metrics.k8s.io/v1beta1/proxy/namespaces/shop/queue",
        "custom.metrics.k8s.io/v1beta1/watch/namespaces/shop/pods/web/hits",
        "metrics.k8s.io/v1beta1/namespaces/shop/status",
        "metrics.k8s.io/v1beta1/namespaces/shop/finalize",
    ],
)
def test_nothing_is_served_under_the_path_of_a_verb(world: World, path):
    assert world.get(f"/apis/{path}") == 404
    assert world.answers.served == []


PODS_PATH = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"


@settings(max_examples=200, deadline=None)
@given(target=targets(), odd=st.sampled_from(["", *"\t\n\r#?&;"]), position=st.integers(0, 80))
@example(f"{PODS_PATH}?fieldSelector=metadata.name%3Dweb-1", "", 0)
@example(f"{PODS_PATH}?fieldSelector=metadata.name%3Dweb-1", "\n", len(PODS_PATH) + 6)
@example(f"{PODS_PATH}?a=b&fieldSelector=metadata.name%3Dweb-1", "#", len(PODS_PATH) + 4)
@example(f"{PODS_PATH}/web-1", "#", len(PODS_PATH))
@example(f"{PODS_PATH}/web-1", "\t", len(PODS_PATH) + 4)
def test_a_path_is_explained_only_as_what_it_was_authorized_as(world, target, odd, position):
    target = target[:position] + odd + target[position:]
    assert world.explain(target) < 500, target
    for served in world.answers.served:
        of_endpoint, authorized = world.rights.authorized
        assert of_endpoint.path == EXPLAIN
        assert agrees(authorized, served), (target, authorized, served)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces/shop/queue", 200, id="plain"),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces/shop/queue/", 200, id="slash"),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces%2Fshop%2Fqueue", 200, id="%2F"),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces/shop/%71ueue", 200, id="letter"),
        pytest.param("external.metrics.k8s.io/v1beta1//namespaces/shop/queue", 404, id="//"),
        pytest.param("external.metrics.k8s.io/v1beta1/%2Fnamespaces/shop/queue", 404, id="/%2F"),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces//queue", 404, id="no namespace"),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces/shop/../queue", 404, id=".."),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces/shop/%ff", 200, id="not UTF-8"),
        pytest.param("external.metrics.k8s.io/v1beta1/namespaces/shop/%zz", 400, id="half"),
    ],
)
def test_paths_are_read_as_the_generic_api_server_reads_them(world: World, path, code):
    assert world.get(f"/apis/{path}") == code


@pytest.mark.parametrize("name", ["%ff", "%ed%a0%80"])
def test_bytes_that_are_not_utf_8_are_replaced_for_rights_and_routes(world: World, name):
    assert world.get(f"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/{name}") == 200
    (served,) = world.answers.served
    assert isinstance(served, ExternalMetricRequest)
    assert set(served.metric) == {"\ufffd"}
    assert world.rights.authorized[0].resource == served.metric


def test_a_double_escape_is_decoded_once(world: World):
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/a%252Fb"
    assert world.get(path) == 200
    (served,) = world.answers.served
    assert isinstance(served, ExternalMetricRequest)
    assert served.metric == "a%2Fb"
    assert world.rights.authorized[0].resource == "a%2Fb"


def test_a_double_escape_in_a_selector_is_decoded_once(world: World):
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"
    assert world.get(f"{path}?labelSelector=a%3D%2541") == 400, "%41 is not a label value; A is"
