"""When the caches are complete, how old they are, and from when on nothing is scaled down by them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping

import pytest

from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.cluster.telemetry import Telemetry
from scaler.runtime.watches import Watches
from wire.api.status import StatusError, Unavailable
from wire.kube.object_copy import COPY_AGE_SECONDS_MAX
from wire.kube.requests import OnAccepted

EMPTY = b'{"metadata": {"resourceVersion": "1"}, "items": []}'
HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"
FORBIDDEN = StatusError("no rights", code=403, reason="Forbidden")


def hpa(name: str) -> dict[str, object]:
    """As an item of a LIST."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "metadata": {"namespace": "shop", "name": name, "resourceVersion": "1"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3},
    }


class SilentServer:
    """Empty collections whose watches stay silent; HPAs may fail or hang."""

    def __init__(self, hpas: bytes | Exception | None = EMPTY) -> None:
        self._hpas = hpas
        self.ended = {True: asyncio.Event(), False: asyncio.Event()}
        """The watch of the HPAs, and all others."""

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        response = self._hpas if path == HPAS else EMPTY
        if response is None:
            await asyncio.Event().wait()
        if isinstance(response, Exception):
            raise response
        assert response is not None
        return response

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = "",
        timeout_seconds: float = 0,
        on_accepted: OnAccepted = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        await self.ended[path == HPAS].wait()
        yield b""


class RunningWatches:
    """Watches whose clock the test moves."""

    def __init__(self, server: SilentServer, *namespaces: str) -> None:
        self.now_seconds = 1000.0
        self.watches = Watches(
            server,
            LOAD_AUTOSCALERS,
            namespaces,
            on_change=lambda _, __: None,
            on_crash=lambda: None,
            monotonic=lambda: self.now_seconds,
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "RunningWatches":
        self._tasks = [asyncio.create_task(cache.run()) for cache in self.watches.caches]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()


@pytest.mark.parametrize(
    ("hpas", "waits"),
    [
        pytest.param(EMPTY, False, id="listed"),
        pytest.param(FORBIDDEN, False, id="forbidden"),
        pytest.param(None, True, id="a LIST that takes long"),
        pytest.param(Unavailable("connection refused"), True, id="unavailable"),
        pytest.param(StatusError("busy", code=503, reason="ServiceUnavailable"), True, id="503"),
    ],
)
async def test_nothing_is_scaled_blind_to_hpas_unless_they_may_not_be_listed(hpas, waits):
    async with RunningWatches(SilentServer(hpas)) as running:
        synced = asyncio.create_task(running.watches.synced())
        for _ in range(100):  # nothing here waits for anything but other tasks
            await asyncio.sleep(0)
        assert synced.done() is not waits
        synced.cancel()


@pytest.mark.deviation("outdated-cache")
async def test_a_cache_that_is_not_confirmed_for_long_is_reported_and_outdated():
    async with RunningWatches(SilentServer()) as running:
        await running.watches.synced()
        running.now_seconds += COPY_AGE_SECONDS_MAX
        assert running.watches.outdated("shop") is None
        running.now_seconds += 60
        assert running.watches.ages_seconds() == {
            "loadautoscalers": 420.0,
            "pods": 420.0,
            "horizontalpodautoscalers": 420.0,
            "scalingcalendars": 420.0,
            "clusterscalingcalendars": 420.0,
        }
        reason = "the cached loadautoscalers were last confirmed by the API server 7m0s ago"
        assert running.watches.outdated("shop") == reason
        (informs,) = [check for check in running.watches.checks() if check.name == "cache-age"]
        assert informs.problem() == reason
        assert informs.informs, "an old cache must not restart the process"


async def test_hpas_that_may_not_be_listed_are_not_outdated():
    async with RunningWatches(SilentServer(FORBIDDEN)) as running:
        await running.watches.synced()
        assert "horizontalpodautoscalers" not in running.watches.ages_seconds()


def revoked(server: SilentServer, error: Exception) -> None:
    """From now on, the LISTs of HPAs fail with that."""
    server._hpas = error
    server.ended[True].set()


@pytest.mark.parametrize(
    ("error", "is_outdated"),
    [
        pytest.param(FORBIDDEN, False, id="403"),
        pytest.param(Unavailable("connection refused"), True, id="unavailable"),
        pytest.param(StatusError("busy", code=503, reason="ServiceUnavailable"), True, id="503"),
    ],
)
async def test_hpas_that_may_not_be_listed_any_more_are_not_outdated(error, is_outdated):
    """As those that may not be listed from the start: LoadAutoscalers scale down without knowing them."""
    server = SilentServer()
    async with RunningWatches(server) as running:
        await running.watches.synced()
        revoked(server, error)
        (hpas,) = running.watches._hpas
        while str(error) not in str(hpas.last_error):  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0)
        running.now_seconds += COPY_AGE_SECONDS_MAX + 1
        for cache in running.watches.caches:
            if cache is not hpas:
                cache._confirmed_at_seconds = running.now_seconds
        assert (running.watches.outdated("shop") is not None) is is_outdated
        assert ("horizontalpodautoscalers" in running.watches.ages_seconds()) is is_outdated
        (informs,) = [check for check in running.watches.checks() if check.name == "cache-age"]
        assert (informs.problem() is not None) is is_outdated


async def test_only_the_caches_of_a_namespace_count_for_it():
    async with RunningWatches(SilentServer(), "shop", "bank") as running:
        await running.watches.synced()
        running.now_seconds += COPY_AGE_SECONDS_MAX + 1
        for cache in running.watches.caches:
            if "/bank/" in cache.path:
                cache._confirmed_at_seconds = running.now_seconds
        assert running.watches.outdated("shop")
        assert running.watches.outdated("bank") is None


async def test_the_age_of_the_caches_is_a_metric():
    async with RunningWatches(SilentServer()) as running:
        await running.watches.synced()
        telemetry = Telemetry()
        telemetry.show_cache_ages(running.watches.ages_seconds)
        running.now_seconds += 90
        value = telemetry.registry.get_sample_value
        assert value("loadline_scaler_cache_age_seconds", {"resource": "pods"}) == 90


async def test_a_bug_that_concerns_one_autoscaler_is_counted_and_ends_no_watch():
    page = json.dumps({"metadata": {"resourceVersion": "1"}, "items": [hpa("web"), hpa("mail")]})
    crashes: list[int] = []

    def changed(_: Autoscaler | None, new: Autoscaler | None) -> None:
        if new is not None and new.metadata.name == "web":
            raise ValueError("a bug")

    watches = Watches(
        SilentServer(page.encode()),
        HORIZONTAL_POD_AUTOSCALERS,
        (),
        on_change=changed,
        on_crash=lambda: crashes.append(1),
    )
    (cache,) = watches.autoscalers.caches
    running = asyncio.create_task(cache.run())
    await cache.synced()
    assert len(crashes) == 1
    assert len(watches.autoscalers) == 2
    assert not running.done()
    running.cancel()
