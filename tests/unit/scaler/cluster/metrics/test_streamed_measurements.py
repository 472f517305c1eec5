"""Readings from the stream are those of GETs at the same moments, and cost no GET while nothing changes."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.readings import ExternalValues, MetricFailed, PodSample, PodSamples, Reading
from scaler.api.autoscaler import MetricSpec
from scaler.cluster.metrics.followers import Followers
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.metrics.metric_stream import MetricStream
from scaler.cluster.telemetry import Telemetry
from tests.fakes import virtual_time
from tests.fakes.scaler import FakeKube, FakeMapper, resource
from tests.unit.scaler.cluster.metrics.test_measurements import (
    CPU,
    CUSTOM,
    EXTERNAL,
    GROUPS,
    external,
    of_object,
    pods,
)
from wire.api.labels import parse
from wire.api.metric_stream import StreamedResponse, StreamUpdate, decode_request
from wire.api.status import StatusError, from_response

PODS = parse("app=web")
METRICS = {
    "external": (external(), f"{EXTERNAL}/queue"),
    "pods": (pods(), f"{CUSTOM}/pods/*/rps"),
    "object": (of_object("Service"), f"{CUSTOM}/services/front/hits"),
}
USAGE = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"


class World:
    """The same server behind a stream and behind GETs. Its clock is the loop's."""

    def __init__(self, *, keeps_case: bool = True) -> None:
        self.seconds = 0.0
        self.keeps_case = keeps_case
        self.kube = FakeKube()
        self.kube.serve("/apis", GROUPS)
        self.kube.serve(USAGE, {"items": []})
        self.stream = MetricStream(self.now)
        self.followers = Followers()
        self.streamed, self.plain = self._reader(self.kube, self.stream), None
        self.sent: dict[int, bytes] = {}
        self.watched: dict[int, str] = {}
        self.version = 0
        for name in METRICS:
            self.set(name, 1)

    def now(self) -> float:
        return self.seconds

    def _reader(self, kube: FakeKube, stream: MetricStream | None) -> Measurements:
        mapper = FakeMapper(resource("", "v1", "services", "Service"))
        return Measurements(
            kube,
            mapper,
            Telemetry(),
            period_seconds=15.0,
            keeps_case=self.keeps_case,
            stream=stream,
            followers=None if stream is None else self.followers,
            monotonic=self.now,
        )

    def set(self, name: str, value: int | None) -> None:
        """The value from now on; None: the metric does not exist."""
        path = METRICS[name][1]
        if value is None:
            body = {"kind": "Status", "code": 404, "message": f"no metric {name}"}
            self.kube.answers[path] = from_response(404, json.dumps(body).encode())
            return
        item = {"value": str(value), "timestamp": "2026-01-01T00:00:00Z"}
        names = ("web-0", "web-1") if name == "pods" else ("front",)
        items = [{**item, "describedObject": {"name": each}} for each in names]
        self.kube.serve(path, {"items": items})

    def open(self) -> None:
        self.stream.opened(lambda path: path.startswith((CUSTOM, EXTERNAL)))
        self.sent.clear()
        self.watched.clear()

    def round(self) -> None:
        """The adapter evaluates what is watched, and sends what has changed."""
        for message in self.stream.requests():
            request = decode_request(message)
            self.watched |= {each.id: each.path.partition("?")[0] for each in request.watch}
        responses = []
        for number, path in self.watched.items():
            answer = self.kube.answers[path]
            code, body = 200, answer
            if isinstance(answer, StatusError):
                code, body = answer.code, msgspec.json.encode(answer.to_status())
            if self.sent.get(number) != body:
                self.sent[number] = body
                responses.append(StreamedResponse(number, code, msgspec.Raw(body)))
        self.stream.received(StreamUpdate(responses=tuple(responses), as_of=self.seconds))

    async def read(self, *names: str) -> list[Reading]:
        """A reconcile of an autoscaler with these metrics."""
        reads = self.streamed.reads("shop", [self.spec(name) for name in names], PODS)
        self.followers.follow(f"shop/{names}", reads.requests)
        unknown = tuple(MetricFailed("not known") for _ in names)
        known = reads.known(unknown)
        if not any(each in unknown for each in known):
            return list(known)
        return [each.reading for each in await reads.read()]

    async def get(self, *names: str) -> list[Reading]:
        """The same by GETs, of a scaler that has just started."""
        kube = FakeKube()
        kube.answers = self.kube.answers
        reads = self._reader(kube, None).reads("shop", [self.spec(name) for name in names], PODS)
        return [each.reading for each in await reads.read()]

    def spec(self, name: str) -> MetricSpec:
        return CPU if name == "cpu" else METRICS[name][0]

    @property
    def kept(self) -> tuple[int, int]:
        """How many requests are kept, and how many paths are watched."""
        return len(self.streamed.streamed), len(self.stream)

    def gets(self) -> list[str]:
        """The paths that were requested since the last call."""
        found = [path for path, _ in self.kube.requested if path != "/apis"]
        self.kube.requested.clear()
        return found


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("set"),
            st.sampled_from(list(METRICS)),
            st.one_of(st.none(), st.integers(0, 3)),
        ),
        st.tuples(st.just("pass"), st.sampled_from([0.5, 3.0, 15.0, 61.0])),
        st.just(("lose",)),
        st.just(("open",)),
        st.just(("read",)),
    ),
    max_size=30,
)


@given(steps=steps)
def test_readings_with_a_stream_are_those_of_gets_at_the_same_moments(steps):
    async def scenario() -> None:
        world = World()
        is_open = False
        for step, *rest in [*steps, ("read",)]:
            match step:
                case "set":
                    # A GET may be shared for a second, with or without a stream.
                    world.seconds += 1.0
                    world.set(*rest)
                case "pass":
                    world.seconds += rest[0]
                case "lose":
                    world.stream.closed()
                    is_open = False
                case "open":
                    world.open()
                    is_open = True
                case "read":
                    world.seconds += 1.0
                    if is_open:
                        world.round()
                    names = list(METRICS)
                    assert await world.read(*names) == await world.get(*names)

    virtual_time.run(scenario())


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_that_does_not_change_is_requested_once_and_then_not_any_more(name):
    async def scenario() -> None:
        world = World()
        world.open()
        await world.read(name)
        assert world.gets() == [METRICS[name][1]]
        (first,) = await with_round(world, name)
        (second,) = await with_round(world, name)
        assert first is second, "it is decoded once"
        assert world.gets() == []
        world.set(name, 7)
        (changed,) = await with_round(world, name)
        assert changed != first
        assert world.gets() == []

    virtual_time.run(scenario())


async def with_round(world: World, name: str) -> list[Reading]:
    world.seconds += 15.0
    world.round()
    return await world.read(name)


def test_without_a_confirmation_the_metric_is_requested_at_once():
    async def scenario() -> None:
        world = World()
        world.open()
        await world.read("external")
        await with_round(world, "external")
        world.gets()
        world.seconds += 15.0
        world.set("external", 3)
        assert await world.read("external") == [ExternalValues((3000,))]
        assert world.gets() == [METRICS["external"][1]]

    virtual_time.run(scenario())


@pytest.mark.parametrize("is_confirmed_since", [False, True])
def test_a_value_from_before_the_target_was_scaled_is_requested_again(is_confirmed_since):
    """With a target of type Value, an old value and the new count of replicas would count the load twice."""

    async def scenario() -> None:
        world = World()
        world.open()
        await world.read("external")
        await with_round(world, "external")
        world.gets()
        world.seconds += 0.5
        scaled_at_seconds = world.seconds
        world.seconds += 0.1
        world.set("external", 3)
        if is_confirmed_since:
            world.round()
        reads = world.streamed.reads(
            "shop", [world.spec("external")], PODS, since_seconds=scaled_at_seconds
        )
        found = [each.reading for each in await reads.read()]
        assert found == [ExternalValues((3000,))]
        assert world.gets() == ([] if is_confirmed_since else [METRICS["external"][1]])

    virtual_time.run(scenario())


def test_a_streamed_failure_is_worded_like_that_of_a_get():
    async def scenario() -> None:
        world = World()
        world.open()
        await world.read("external")
        world.set("external", None)
        (failed,) = await with_round(world, "external")
        assert isinstance(failed, MetricFailed)
        assert "no metric external" in failed.message

    virtual_time.run(scenario())


def test_usage_is_not_streamed():
    async def scenario() -> None:
        world = World()
        world.open()
        for _ in range(2):
            await with_round(world, "cpu")
        assert world.gets() == [USAGE, USAGE]
        assert len(world.stream) == 0

    virtual_time.run(scenario())


def test_the_path_of_a_request_is_found_again_when_it_may_have_changed():
    async def scenario() -> None:
        world = World()
        world.open()
        await world.read("pods")
        await with_round(world, "pods")
        newer = {
            "groups": [{"name": "custom.metrics.k8s.io", "versions": [{"version": "v1beta1"}]}]
        }
        world.kube.serve("/apis", newer)
        path = METRICS["pods"][1].replace("v1beta2", "v1beta1")
        world.kube.answers[path] = world.kube.answers[METRICS["pods"][1]]
        world.gets()
        world.seconds += 61.0
        world.round()
        (found,) = await world.read("pods")
        assert isinstance(found, PodSamples)
        assert isinstance(found.by_pod["web-0"], PodSample)
        assert world.gets() == [path]

    virtual_time.run(scenario())


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_response_that_has_changed_costs_no_request_also_if_the_stream_is_lost_meanwhile(is_lost):
    """With many changes waiting they would be sent one after the other, each for up to ten seconds."""

    async def scenario() -> None:
        world = World()
        changed: list[str] = []
        world.stream.on_change = changed.append
        world.open()
        await world.read("external")
        world.round()
        world.gets()
        world.set("external", 7)
        world.seconds += 1.0
        world.round()
        if is_lost:
            world.stream.closed()
        request = await world.streamed.renewed(changed[-1])
        assert (request is None) is is_lost
        assert world.gets() == []

    virtual_time.run(scenario())
