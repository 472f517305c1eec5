"""Which events are written and how: the correlator alone, then the recorder on a fake API server."""

import asyncio
import itertools
import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.cluster.events.correlation import (
    COMBINED,
    Correlator,
    EventSource,
    event_name,
    new_event,
)
from scaler.cluster.events.recorder import (
    MESSAGE_CHARACTERS_MAX,
    WRITES,
    DropReason,
    EventRecorder,
)
from scaler.cluster.events.token_bucket import Refill, TokenBucket
from tests.traced_memory import traced_memory
from wire.api.meta import ObjectReference
from wire.api.status import StatusError, Unavailable

WEB = ObjectReference(kind="HorizontalPodAutoscaler", namespace="n", name="web", uid="1")
SOURCE = EventSource(component="test")


def happened(message="m", *, at=0.0, reason="R", about=WEB, kind="Normal"):
    return new_event(
        about, type=kind, reason=reason, message=message, source=SOURCE, now_seconds=at
    )


def written_of(correlator, *events):
    """What is written of these (event, seconds): "name of the event: message xcount"."""
    written = []
    for event, at in events:
        write = correlator.correlate(event, now_seconds=at)
        if write is None:
            written.append("-")
        else:
            kind = "patch" if write.patch else "create"
            written.append(f"{kind} {write.event.message} x{write.event.count}")
    return written


def test_a_repeated_event_gets_a_higher_count():
    correlator = Correlator()
    assert written_of(correlator, *((happened(at=t), t) for t in (0.0, 15.0, 30.0))) == [
        "create m x1",
        "patch m x2",
        "patch m x3",
    ]


def test_a_patch_changes_count_time_and_message_of_the_first_event():
    correlator = Correlator()
    first = correlator.correlate(happened(at=0.0), now_seconds=0.0)
    again = correlator.correlate(happened(at=90.0), now_seconds=90.0)
    assert first is not None
    assert again is not None
    assert json.loads(again.patch or b"") == {
        "count": 2,
        "lastTimestamp": "1970-01-01T00:01:30Z",
        "message": "m",
    }
    assert again.event.metadata.name == first.event.metadata.name
    assert again.event.first_timestamp == first.event.first_timestamp


def test_from_the_tenth_on_events_that_differ_only_by_message_are_combined():
    correlator = Correlator()
    written = written_of(correlator, *((happened(f"m{i}"), float(i)) for i in range(12)))
    assert written[:9] == [f"create m{i} x1" for i in range(9)]
    assert written[9:] == [
        f"create {COMBINED}m9 x1",
        f"patch {COMBINED}m10 x2",
        f"patch {COMBINED}m11 x3",
    ]


def test_after_ten_quiet_minutes_a_similar_event_is_new():
    correlator = Correlator()
    written_of(correlator, *((happened(f"m{i}"), float(i)) for i in range(12)))
    assert written_of(correlator, (happened("later"), 11 + 601.0)) == ["create later x1"]


def test_other_reasons_and_other_objects_are_not_similar():
    correlator = Correlator()
    other = ObjectReference(kind="HorizontalPodAutoscaler", namespace="n", name="api", uid="2")
    written_of(correlator, *((happened(f"m{i}"), float(i)) for i in range(9)))
    assert written_of(
        correlator, (happened("x", reason="S"), 9.0), (happened("x", about=other), 9.0)
    ) == [
        "create x x1",
        "create x x1",
    ]


def test_an_object_may_have_25_events_and_then_one_every_five_minutes():
    correlator = Correlator()
    written = written_of(correlator, *((happened(at=1.0), 1.0) for _ in range(30)))
    assert written.count("-") == 5
    assert written_of(
        correlator, (happened(), 200.0), (happened(), 302.0), (happened(), 303.0)
    ) == [
        "-",
        "patch m x32",
        "-",
    ]


def test_what_is_remembered_of_an_event_does_not_grow_with_its_message():
    correlator, characters = Correlator(), 100_000
    with traced_memory() as memory:
        for number in range(20):
            correlator.correlate(happened(str(number) * characters), now_seconds=0.0)
        kept_bytes = memory.kept_bytes
    assert kept_bytes < characters


def test_events_whose_texts_only_begin_elsewhere_are_different_ones():
    correlator = Correlator()
    assert written_of(correlator, (happened("ab", reason="c"), 0.0)) == ["create ab x1"]
    assert written_of(correlator, (happened("b", reason="ca"), 0.0)) == ["create b x1"]


@given(st.lists(st.tuples(st.floats(0, 30), st.sampled_from("abcdefghijklmnop")), max_size=200))
def test_no_object_has_more_than_its_burst_and_refill(steps):
    correlator, now, written = Correlator(), 0.0, 0
    for pause, message in steps:
        now += pause
        written += correlator.correlate(happened(message, at=now), now_seconds=now) is not None
    assert written <= 25 + now / 300 + 1


@pytest.mark.parametrize("about", ["web", "Web:1", "a" * 300])
def test_every_object_gets_a_valid_event_name(about):
    name = event_name(about, 1.5)
    assert len(name) <= 253
    assert name == name.lower()
    assert ":" not in name


class Events:
    """An API server that keeps what was sent, and fails first with the given errors."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.sent: list[tuple[str, str]] = []
        self.bodies: list[dict[str, object]] = []

    async def create(self, path: str, body: bytes) -> bytes:
        return self.answer("POST", path, body)

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str = "",
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        return self.answer("PATCH", path, body)

    def answer(self, method: str, path: str, body: bytes) -> bytes:
        self.sent.append((method, path))
        self.bodies.append(json.loads(body))
        if self.failures:
            raise self.failures.pop(0)
        return b"{}"


OTHER = ObjectReference(kind="HorizontalPodAutoscaler", namespace="n", name="api", uid="2")


class Recording:
    """A recorder that runs in virtual time."""

    def __init__(self, server, time, **options):
        self.server, self.time = server, time
        self.dropped: list[tuple[str, DropReason]] = []
        self.recorder = EventRecorder(
            server,
            component="test",
            on_dropped=lambda *drop: self.dropped.append(drop),
            sleep=time.pause,
            now=time.now,
            monotonic=time.now,
            chance=lambda: 0.5,
            **options,
        )
        self.task = asyncio.create_task(self.recorder.run())

    def record(self, *messages, kind="Normal", about=WEB):
        for message in messages:
            self.recorder.event(about, kind, "R", message)

    async def finish(self, seconds=300):
        await self.time.advance(seconds)
        self.task.cancel()
        return self.methods()

    def methods(self):
        return [method for method, _ in self.server.sent]


async def test_an_event_is_what_kubectl_shows(time):
    recording = Recording(Events(), time)
    recording.record("scaled")
    assert await recording.finish() == ["POST"]
    body = recording.server.bodies[0]
    assert body["metadata"]["namespace"] == "n"
    assert body["involvedObject"] == {
        "kind": "HorizontalPodAutoscaler",
        "namespace": "n",
        "name": "web",
        "uid": "1",
    }
    assert (body["source"], body["reportingComponent"]) == ({"component": "test"}, "test")
    assert (body["firstTimestamp"], body["count"]) == ("1970-01-01T00:16:40Z", 1)


@pytest.mark.deviation("event-size")
async def test_of_a_message_that_is_very_long_the_beginning_is_written(time):
    recording = Recording(Events(), time)
    recording.record("x" * MESSAGE_CHARACTERS_MAX + "y")
    await recording.finish()
    assert recording.server.bodies[0]["message"] == "x" * MESSAGE_CHARACTERS_MAX


async def test_an_event_that_was_written_is_patched_when_it_happens_again(time):
    recording = Recording(Events(), time)
    recording.record("m")
    await time.settle()
    recording.record("m")
    assert await recording.finish() == ["POST", "PATCH"]


async def test_an_event_that_happens_again_while_it_waits_is_written_once(time):
    recording = Recording(Events(), time)
    recording.record("m", "m", "m")
    assert await recording.finish() == ["POST"]
    assert recording.server.bodies[0]["count"] == 3


async def test_a_count_of_an_event_that_is_gone_creates_it_again(time):
    recording = Recording(Events(), time)
    recording.record("m")
    await recording.recorder.flushed()
    recording.server.failures = [StatusError("gone", code=404, reason="NotFound")]
    recording.record("m")
    await recording.recorder.flushed()
    assert recording.methods() == ["POST", "PATCH", "POST"]
    assert recording.server.bodies[-1]["count"] == 2
    await recording.finish()


async def test_an_outage_is_waited_for_and_a_refusal_is_final(time, caplog):
    recording = Recording(Events(Unavailable("x"), Unavailable("x")), time)
    recording.record("m")
    assert await recording.finish() == ["POST"] * 3
    refused = StatusError("no", code=403, reason="Forbidden")
    recording = Recording(Events(refused, refused), time)
    recording.record("m", "n", "o")
    assert await recording.finish() == ["POST"] * 3
    assert recording.dropped == [("Normal", DropReason.REFUSED)] * 2
    assert caplog.text.count("refused an event: no") == 1


async def test_an_event_is_given_up_after_two_minutes_of_outage(time):
    recording = Recording(Events(*(Unavailable("x") for _ in range(12))), time)
    recording.record("m")
    await recording.finish()
    assert recording.dropped == [("Normal", DropReason.UNAVAILABLE)]


def autoscaler(number):
    return ObjectReference(kind="HorizontalPodAutoscaler", namespace="n", name=f"a{number}")


async def test_a_rescale_is_written_before_thousands_of_failures(time):
    recording = Recording(Events(), time)
    for number in range(11_000):
        recording.record("no metrics", kind="Warning", about=autoscaler(number))
    recording.record("New size: 3")
    await time.settle()
    assert recording.server.bodies[0]["message"] == "New size: 3"
    assert len(recording.dropped) == 1_000
    assert set(recording.dropped) == {("Warning", DropReason.QUEUE_FULL)}
    await recording.finish()


async def test_an_event_storm_is_written_at_a_limited_rate(time):
    recording = Recording(Events(), time)
    await time.settle()
    written, minutes = [], 3
    for period in range(minutes * 30):  # 1,000 failing autoscalers with a period of 2 s
        for number in range(1_000):
            recording.record("no metrics", kind="Warning", about=autoscaler(number))
        await time.advance(2)
        if period % 30 == 29:
            written.append(len(recording.server.sent))
    rate_max = 60 / WRITES.seconds_per_token
    assert written[0] <= WRITES.burst + rate_max
    assert all(later - before <= rate_max for before, later in itertools.pairwise(written))
    await recording.finish(0)


def test_more_failing_objects_than_upstream_remembers_are_still_limited():
    correlator = Correlator()
    for second in range(30):
        correlator.correlate(happened(at=second, kind="Warning"), now_seconds=second)
    for period in range(2):
        for number in range(5_000):
            event = happened(at=30.0 + period, about=autoscaler(number), kind="Warning")
            write = correlator.correlate(event, now_seconds=30.0 + period)
            assert write is not None
            assert (write.patch is None) == (period == 0)
    assert correlator.correlate(happened(at=32, kind="Warning"), now_seconds=32.0) is None


async def test_what_failed_before_a_rescale_is_written_before_it_and_other_failures_after(time):
    recording = Recording(Events(), time)
    recording.record("no metrics", kind="Warning", about=autoscaler(1))
    recording.record("one metric failed", kind="Warning")
    recording.record("New size: 3")
    await time.settle()
    await recording.finish()
    assert [each["message"] for each in recording.server.bodies] == [
        "one metric failed",
        "New size: 3",
        "no metrics",
    ]


@given(st.lists(st.floats(-5, 30), max_size=100))
def test_a_token_bucket_never_gives_more_than_its_burst_and_refill(steps):
    refill = Refill(burst=3, seconds_per_token=10.0)
    bucket, now, elapsed, taken = TokenBucket(3.0, 0.0), 0.0, 0.0, 0
    for step in steps:
        now += step
        elapsed += abs(step)
        taken += bucket.take(refill, now_seconds=now)
        wait_seconds = bucket.wait_seconds(refill, now_seconds=now)
        assert 0 <= wait_seconds <= 10.0
        assert bucket.tokens + wait_seconds / 10.0 >= 1.0 - 1e-9
    assert taken <= 3 + elapsed / 10.0


async def test_events_of_one_moment_have_names_of_their_own(time):
    recording = Recording(Events(), time)
    recording.record("m", "n")
    await recording.finish()
    names = {body["metadata"]["name"] for body in recording.server.bodies}
    assert len(names) == 2
