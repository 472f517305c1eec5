"""Which requests are sent to the adapter directly, and which of them kube-apiserver answers after all."""

import asyncio
from collections.abc import Mapping

import pytest

from scaler.cluster.metrics.direct_reader import DirectReader
from scaler.cluster.telemetry import Telemetry
from tests.fakes import virtual_time
from wire.api.status import (
    StatusError,
    Unavailable,
    failure,
    forbidden,
    not_found,
    service_unavailable,
    unauthorized,
)
from wire.kube.requests import BodyTooLarge

PATH = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/rps"
PARAMS = {"labelSelector": "app=web"}


class Server:
    """Responds with its name, or with the failure that a test has set."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.failure: Exception | None = None
        self.hangs = False
        self.requested: list[tuple[str, dict[str, str]]] = []

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        self.requested.append((path, dict(params or {})))
        if self.hangs:
            await virtual_time.passes(1e6)
        if self.failure is not None:
            raise self.failure
        return self.name


class World:
    """A `DirectReader`, and the route that serves the custom metrics API."""

    def __init__(self) -> None:
        self.adapter, self.api_server = Server(b"adapter"), Server(b"kube-apiserver")
        self.failures: list[str] = []
        self.telemetry = Telemetry()
        self.seconds = 1000.0
        self.reader_of = DirectReader(
            self.api_server,
            self,
            self.telemetry,
            deadline_seconds=10.0,
            monotonic=lambda: self.seconds,
        )

    def reader(self, group: str, version: str) -> Server | None:
        served = ("custom.metrics.k8s.io", "v1beta2")
        return self.adapter if (group, version) == served else None

    def failed(self, reader: object, problem: str) -> None:
        assert reader is self.adapter
        self.failures.append(problem)

    async def get(self, path: str = PATH) -> bytes:
        return await self.reader_of.get(path, PARAMS)

    def count(self, result: str) -> float | None:
        name = "loadline_scaler_direct_requests_total"
        return self.telemetry.registry.get_sample_value(name, {"result": result})


async def test_a_metric_of_the_adapter_is_not_requested_from_kube_apiserver():
    world = World()
    assert await world.get() == b"adapter"
    assert world.adapter.requested == [(PATH, PARAMS)]
    assert world.api_server.requested == []
    assert world.count("answered") == 1


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue", id="group"),
        pytest.param(
            "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/rps", id="version"
        ),
        pytest.param("/apis", id="discovery"),
    ],
)
async def test_what_another_server_serves_is_requested_through_kube_apiserver(path):
    world = World()
    assert await world.get(path) == b"kube-apiserver"
    assert world.adapter.requested == []


async def test_an_error_of_the_adapter_is_the_answer_as_it_is_through_kube_apiserver():
    world = World()
    world.adapter.failure = not_found("no metric rps")
    with pytest.raises(StatusError, match="no metric rps"):
        await world.get()
    assert world.api_server.requested == []


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        pytest.param(Unavailable("connection refused"), ["connection refused"], id="no connection"),
        pytest.param(
            unauthorized(),
            ["the adapter does not accept the token: Unauthorized"],
            id="token not accepted",
        ),
        pytest.param(forbidden("no"), [], id="not allowed"),
        pytest.param(failure(429, "too many wait for a review"), [], id="too many unknown clients"),
        pytest.param(service_unavailable("no review"), [], id="the token cannot be reviewed"),
    ],
)
async def test_a_request_that_the_adapter_does_not_answer_is_sent_to_kube_apiserver(
    error, reported
):
    world = World()
    world.adapter.failure = error
    assert await world.get() == b"kube-apiserver"
    assert world.failures == reported
    assert world.count("failed") == 1


async def test_a_response_that_is_too_large_fails_alone_and_is_not_requested_again():
    """kube-apiserver would forward the same one, and the metrics of everyone else can be read directly."""
    world = World()
    world.adapter.failure = BodyTooLarge("larger than 67108864 bytes")
    with pytest.raises(BodyTooLarge):
        await world.get()
    assert world.api_server.requested == []
    assert world.failures == []
    assert world.count("answered") == 1


def test_an_adapter_that_hangs_leaves_half_of_the_deadline_for_kube_apiserver():
    async def scenario() -> float:
        world = World()
        world.adapter.hangs = True
        assert await world.get() == b"kube-apiserver"
        assert world.failures == [], "one slow metric does not end the connection"
        return asyncio.get_running_loop().time()

    assert virtual_time.run(scenario()) == 5.0


async def test_a_namespace_whose_metrics_are_forbidden_is_read_through_kube_apiserver_for_a_while():
    world = World()
    world.adapter.failure = forbidden("no right in shop")
    other = PATH.replace("shop", "office")
    for _ in range(3):
        assert await world.get() == b"kube-apiserver"
    assert len(world.adapter.requested) == 1
    world.adapter.failure = None
    assert await world.get(other) == b"adapter", "another namespace"
    world.seconds += 13
    assert await world.get() == b"adapter"


async def test_the_pauses_of_a_forbidden_namespace_grow_to_minutes_and_it_is_logged_once(caplog):
    world = World()
    world.adapter.failure = forbidden("no right in shop")
    for _ in range(3600):
        await world.get()
        world.seconds += 1
    assert 10 <= len(world.adapter.requested) <= 20
    assert caplog.text.count("no right in shop") == 1
