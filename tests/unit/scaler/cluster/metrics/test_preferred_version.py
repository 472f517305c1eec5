"""Which version of the custom metrics API is used while discovery fails or hangs."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
import pytest

from scaler.cluster.metrics.custom import KNOWN_WAIT_SECONDS, PreferredVersion
from scaler.cluster.metrics.metrics_api import MetricUnavailable
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.metrics.test_measurements import GROUPS
from wire.api.custom_metrics import GROUP
from wire.api.status import StatusError, Unavailable
from wire.kube.mapper import ACCEPT_AGGREGATED

PERIOD_SECONDS = 15.0
HANGING_SECONDS = 60.0
FORBIDDEN = StatusError("apis is forbidden", code=403, reason="Forbidden")


class Discovery:
    """Answers as the test says, after a time."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.groups: object = GROUPS
        self.seconds = 0.0
        self.requests = 0
        self.accepted = ""

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        assert path == "/apis"
        self.accepted = accept
        self.requests += 1
        await virtual_time.passes(self.seconds)
        if self.error is not None:
            raise self.error
        return msgspec.json.encode(self.groups)


Scenario = Callable[[Discovery, PreferredVersion], Coroutine[Any, Any, None]]


def with_a_known_version(scenario: Scenario) -> None:
    """Run it when the version has been known for more than a period."""

    async def prepared() -> None:
        discovery = Discovery()
        version = version_of(discovery)
        assert await version.get() == "v1beta2"
        await virtual_time.passes(PERIOD_SECONDS)
        await scenario(discovery, version)

    virtual_time.run(prepared())


def version_of(discovery: Discovery) -> PreferredVersion:
    now = asyncio.get_running_loop().time
    return PreferredVersion(discovery, period_seconds=PERIOD_SECONDS, monotonic=now)


def test_while_discovery_hangs_metrics_wait_a_moment_and_use_the_known_version():
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.seconds, now = HANGING_SECONDS, asyncio.get_running_loop().time
        begin = now()
        for _ in range(3):
            assert await version.get() == "v1beta2"
            assert now() - begin == KNOWN_WAIT_SECONDS, "only the first one waits"
        assert discovery.requests == 2, "no second request beside the one that hangs"

    with_a_known_version(scenario)


@pytest.mark.deviation("known-custom-version")
def test_without_a_response_of_discovery_the_known_version_stays_in_use():
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.error = Unavailable("connection refused")
        for requests in (2, 3, 4):
            assert await version.get() == "v1beta2"
            await virtual_time.passes(1)
            assert discovery.requests == requests, "a failure is not cached"

    with_a_known_version(scenario)


def test_a_response_after_a_failure_is_used_by_the_next_metric():
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.error = Unavailable("connection refused")
        assert await version.get() == "v1beta2"
        discovery.error = FORBIDDEN
        assert await version.get() == "v1beta2", "it does not wait"
        await virtual_time.passes(1)
        with pytest.raises(StatusError, match="apis is forbidden"):
            await version.get()

    with_a_known_version(scenario)


@pytest.mark.deviation("known-custom-version")
@pytest.mark.parametrize("code", [429, 500, 503])
def test_while_the_server_fails_the_known_version_stays_in_use(code):
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.error = StatusError("internal error", code=code, reason="")
        for requests in (2, 3):
            assert await version.get() == "v1beta2"
            assert discovery.requests == requests

    with_a_known_version(scenario)


@pytest.mark.parametrize("response", ["<html>Please log in</html>", {}, {"groups": None}])
def test_while_something_else_responds_the_known_version_stays_in_use(response):
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.groups = response
        for requests in (2, 3):
            assert await version.get() == "v1beta2"
            assert discovery.requests == requests, "a failure is not cached"

    with_a_known_version(scenario)


@pytest.mark.deviation("known-custom-version")
def test_a_response_that_refuses_discovery_fails_the_metric_as_upstream():
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.error = FORBIDDEN
        with pytest.raises(StatusError, match="apis is forbidden"):
            await version.get()

    with_a_known_version(scenario)


def test_without_a_known_version_the_failure_of_discovery_is_that_of_the_metric():
    async def scenario() -> None:
        discovery = Discovery()
        discovery.error = Unavailable("connection refused")
        with pytest.raises(Unavailable, match="connection refused"):
            await version_of(discovery).get()

    virtual_time.run(scenario())


def of_group(*versions: tuple[str, str]) -> object:
    """An aggregated document with these versions of the custom metrics API, and whether each of them is Current."""
    of_custom = {
        "metadata": {"name": GROUP},
        "versions": [
            {"version": version, "freshness": freshness, "resources": [{"resource": "pods"}]}
            for version, freshness in versions
        ],
    }
    malformed = {"metadata": 7}
    return {"kind": "APIGroupDiscoveryList", "items": [malformed, of_custom]}


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        pytest.param([("v1beta2", "Stale"), ("v1beta1", "Current")], "v1beta1", id="stale"),
        pytest.param([("v1beta1", "Current"), ("v1beta2", "Current")], "v1beta1", id="preferred"),
        pytest.param([("v3", "Current"), ("v1beta1", "")], "v1beta1", id="unknown"),
    ],
)
def test_the_version_is_the_first_one_whose_server_responds(versions, chosen):
    """An APIService that was left behind by an adapter makes its version stale. Upstream: `convertAPIGroup`."""

    async def scenario() -> None:
        discovery = Discovery()
        discovery.groups = of_group(*versions)
        assert await version_of(discovery).get() == chosen
        assert discovery.accepted == ACCEPT_AGGREGATED

    virtual_time.run(scenario())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            of_group(("v1beta2", "Stale"), ("v1beta1", "Stale")),
            "no known available metric versions found",
        ),
        ({"kind": "APIGroupDiscoveryList", "items": []}, "no custom metrics API"),
    ],
)
def test_without_a_version_whose_server_responds_the_metric_fails_as_upstream(groups, message):
    async def scenario() -> None:
        discovery = Discovery()
        discovery.groups = groups
        with pytest.raises(MetricUnavailable, match=message):
            await version_of(discovery).get()

    virtual_time.run(scenario())


def test_a_group_that_cannot_be_read_is_not_taken_for_none():
    async def scenario(discovery: Discovery, version: PreferredVersion) -> None:
        discovery.groups = {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": 7}}]}
        assert await version.get() == "v1beta2"

    with_a_known_version(scenario)
