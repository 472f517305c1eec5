"""Many autoscalers are scaled together: their scales are written first, and their statuses afterwards."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.clock import Clock
from scaler.cluster.rivals import Rivals
from scaler.cluster.scales import Scales
from scaler.cluster.selectors import Selectors
from scaler.cluster.telemetry import Telemetry
from scaler.control.burst import (
    DENSE_WAITS_MAX,
    QUIET_SECONDS,
    WAIT_SECONDS_MAX,
    Burst,
    wait_seconds_max,
)
from scaler.control.controller import Controller
from scaler.control.dependencies import Dependencies
from scaler.control.reconcile import Reconciler
from scaler.control.workqueue import WorkQueue
from scaler.extensions import extensions_of
from tests.fakes import virtual_time
from tests.fakes.scaler import (
    FakeAutoscalers,
    FakeEvents,
    FakeKube,
    FakeMapper,
    FakeMeasurements,
    FakePods,
    resource,
)
from tests.unit.scaler.control.world import NOW_SECONDS, SPEC, autoscaler
from wire.api.meta import ObjectMeta

WRITE_SECONDS = 0.02
PERIOD_SECONDS = 15.0
UID = ""
"""Its moment is the start of each period: 0 s, 15 s, 30 s ..."""


class SlowKube(FakeKube):
    """Each write takes a while."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now
        self.written: list[tuple[float, str, str]] = []
        """When which name was written, and what of it: `scale` or `status`."""

    async def replace(
        self, path: str, body: bytes, *, before_each: Callable[[], None] | None = None
    ) -> bytes:
        response = await super().replace(path, body, before_each=before_each)
        await virtual_time.passes(WRITE_SECONDS)
        *_, name, what = path.split("/")
        self.written.append((self._now(), name, what))
        return response


class Many:
    """So many autoscalers, each with a target of its own at 1 replica, whose metric wants 3."""

    def __init__(self, count: int, *, drain_seconds: float = 3.0) -> None:
        now = asyncio.get_running_loop().time
        self.names = [f"web-{number}" for number in range(count)]
        self.kube = SlowKube(now)
        self.autoscalers = FakeAutoscalers(*(self._autoscaler(name) for name in self.names))
        selectors = Selectors()
        for name in self.names:
            selectors.appear(f"shop/{name}")
            self.kube.serve(LOAD_AUTOSCALERS.object("shop", name), {})
            self.kube.serve(
                f"/apis/apps/v1/namespaces/shop/deployments/{name}/scale",
                {
                    "metadata": {"resourceVersion": "1", "uid": name},
                    "spec": {"replicas": 1},
                    "status": {"replicas": 1, "selector": f"app={name}"},
                },
            )
        settings = Settings(kind=LOAD_AUTOSCALERS, extensions=extensions_of(LOAD_AUTOSCALERS))
        dependencies = Dependencies(
            kube=self.kube,
            scales=Scales(
                self.kube, FakeMapper(resource("apps", "v1", "deployments", "Deployment"))
            ),
            autoscalers=self.autoscalers,
            pods=FakePods(*(_pod(name) for name in self.names)),
            selectors=selectors,
            rivals=Rivals(),
            measurements=FakeMeasurements(ExternalValues((30_000,))),
            events=FakeEvents(),
            telemetry=Telemetry(),
            settings=lambda: settings,
            scales_first=lambda key: self.controller.scales_first(key),
        )
        clock = Clock(now=lambda: NOW_SECONDS + now(), monotonic=now)
        self.reconciler = Reconciler(dependencies, settings, clock=clock)
        self.controller = Controller(
            WorkQueue(PERIOD_SECONDS),
            self.reconciler.reconcile,
            Telemetry(),
            concurrent=5,
            drain_seconds=drain_seconds,
            monotonic=now,
        )

    def _autoscaler(self, name: str) -> Any:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        metadata = {"namespace": "shop", "name": name, "uid": name, "resourceVersion": "5"}
        return autoscaler(metadata=metadata, spec={**SPEC, "scaleTargetRef": target})

    async def run(self, seconds: float, *, uids: Callable[[str], str] = lambda _: UID) -> None:
        """All of them are due after 15 s, unless their `uids` say otherwise."""
        for name in self.names:
            self.controller.enqueue(f"shop/{name}", uids(name))
        try:
            async with asyncio.timeout(seconds):
                await self.controller.run()
        except TimeoutError:
            return

    def times(self, what: str) -> dict[str, float]:
        """When it was written for the first time, by name."""
        return {name: at for at, name, found in reversed(self.kube.written) if found == what}


def _pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=f"{name}-1", namespace="shop", labels={"app": name}))


def run(scenario: Callable[[], Coroutine[Any, Any, Many]]) -> Many:
    return virtual_time.run(scenario())


@pytest.mark.deviation("scales-first")
def test_all_scales_of_a_burst_are_written_before_the_first_status():
    async def scenario() -> Many:
        many = Many(60)
        await many.run(20)
        return many

    many = run(scenario)
    scales, statuses = many.times("scale"), many.times("status")
    assert len(scales) == len(statuses) == 60
    assert max(scales.values()) < min(statuses.values())
    alone_seconds = 60 / 5 * WRITE_SECONDS
    assert max(scales.values()) <= PERIOD_SECONDS + alone_seconds + WRITE_SECONDS


def test_the_status_of_a_single_scale_follows_it_soon():
    async def scenario() -> Many:
        many = Many(1)
        await many.run(20)
        return many

    many = run(scenario)
    waited = many.times("status")["web-0"] - many.times("scale")["web-0"]
    assert waited <= QUIET_SECONDS + 2 * WRITE_SECONDS


@pytest.mark.deviation("scales-first")
@pytest.mark.parametrize(
    ("scales_a_second", "expected_waits"),
    [
        pytest.param(400, DENSE_WAITS_MAX, id="dense"),
        pytest.param(50, DENSE_WAITS_MAX, id="barely dense"),
        pytest.param(40, 1, id="not dense"),
    ],
)
def test_statuses_wait_longer_while_many_targets_are_scaled(scales_a_second, expected_waits):
    """5,000 targets that change at once take longer than a single wait."""

    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        burst, others = Burst(loop.time), set()

        async def scale_without_end() -> None:
            while True:
                others.add(asyncio.create_task(burst.over(WAIT_SECONDS_MAX)))
                await virtual_time.passes(1 / scales_a_second)

        scaling = asyncio.create_task(scale_without_end())
        await virtual_time.passes(1)
        began = loop.time()
        await burst.over(WAIT_SECONDS_MAX)
        waited_seconds = loop.time() - began
        for each in (scaling, *others):
            each.cancel()
        await asyncio.wait({scaling, *others})
        return waited_seconds

    expected = expected_waits * WAIT_SECONDS_MAX
    assert virtual_time.run(scenario()) == pytest.approx(expected, abs=0.01)


@pytest.mark.deviation("scales-first")
def test_a_status_does_not_wait_for_long_while_others_are_scaled_without_end():
    async def scenario() -> Many:
        many = Many(300)
        # Their moments are spread over the period: one every 0.05 s.
        await many.run(40, uids=lambda name: name)
        return many

    many = run(scenario)
    scales, statuses = many.times("scale"), many.times("status")
    waits = [statuses[name] - scales[name] for name in many.names]
    most_seconds = wait_seconds_max(PERIOD_SECONDS)
    assert QUIET_SECONDS < max(waits) <= most_seconds + 5 * WRITE_SECONDS


def test_no_status_waits_longer_because_the_period_of_its_autoscaler_is_an_hour():
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        burst = Burst(loop.time)

        async def scale_without_end() -> None:
            while True:
                await burst.over(0.0)
                await virtual_time.passes(QUIET_SECONDS / 2)

        others = asyncio.create_task(scale_without_end())
        began = loop.time()
        await burst.over(wait_seconds_max(3600.0))
        others.cancel()
        return loop.time() - began

    assert virtual_time.run(scenario()) == pytest.approx(WAIT_SECONDS_MAX)
    assert wait_seconds_max(PERIOD_SECONDS) == pytest.approx(2.25)
    assert wait_seconds_max(2.0) == pytest.approx(0.3)


def test_an_autoscaler_is_not_reconciled_again_before_its_status_was_written():
    async def scenario() -> Many:
        many = Many(60)
        loop = asyncio.get_running_loop()
        for name in many.names:
            loop.call_later(PERIOD_SECONDS + 0.1, many.controller.bring_forward, f"shop/{name}")
        await many.run(25)
        return many

    many = run(scenario)
    for name in many.names:
        order = [what for _, found, what in many.kube.written if found == name]
        assert order[:2] == ["scale", "status"]
        assert "scale scale" not in " ".join(order)


def test_a_change_by_a_user_while_a_status_waits_does_not_refuse_it():
    async def scenario() -> Many:
        many = Many(1)
        version = ["5"]
        path = f"{LOAD_AUTOSCALERS.object('shop', 'web-0')}/status"
        many.kube.versions[path] = lambda: version[0]

        def edit() -> None:
            found = many.autoscalers.by_key["shop/web-0"]
            metadata = msgspec.structs.replace(
                found.metadata, resource_version="6", labels={"a": "b"}
            )
            changed = msgspec.structs.replace(found, metadata=metadata)
            many.autoscalers.by_key["shop/web-0"] = changed
            version[0] = "6"

        loop = asyncio.get_running_loop()
        loop.call_later(PERIOD_SECONDS + WRITE_SECONDS + QUIET_SECONDS / 2, edit)
        await many.run(20)
        return many

    many = run(scenario)
    path, body = many.kube.applied[-1]
    assert path.endswith("/status")
    assert body["metadata"]["labels"] == {"a": "b"}
    assert body["status"]["desiredReplicas"] == 3


def test_a_status_that_another_process_wrote_meanwhile_is_not_overwritten():
    async def scenario() -> Many:
        many = Many(1)
        version = ["5"]
        path = f"{LOAD_AUTOSCALERS.object('shop', 'web-0')}/status"
        many.kube.versions[path] = lambda: version[0]

        def write() -> None:
            found = many.autoscalers.by_key["shop/web-0"]
            metadata = msgspec.structs.replace(found.metadata, resource_version="6")
            status = autoscaler(status={"desiredReplicas": 7}).status
            changed = msgspec.structs.replace(found, metadata=metadata, status=status)
            many.autoscalers.by_key["shop/web-0"] = changed
            version[0] = "6"

        loop = asyncio.get_running_loop()
        loop.call_later(PERIOD_SECONDS + WRITE_SECONDS + QUIET_SECONDS / 2, write)
        await many.run(20)
        return many

    assert [path.rpartition("/")[2] for path, _ in run(scenario).kube.applied] == ["scale"]


def test_the_statuses_that_wait_are_written_before_the_controller_ends():
    """SIGTERM in the middle of a burst."""

    async def scenario() -> Many:
        many = Many(60)
        await many.run(PERIOD_SECONDS + 0.1)
        return many

    many = run(scenario)
    scales, statuses = many.times("scale"), many.times("status")
    assert 0 < len(scales) < 60
    assert set(statuses) == set(scales)
