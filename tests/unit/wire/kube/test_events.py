"""Which events are written and how: the correlator alone, then the recorder on a fake API server."""

import asyncio
import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.kube.correlation import COMBINED, Correlator, EventSource, event_name, new_event
from wire.kube.events import QUEUE_MAX, EventRecorder
from wire.meta import ObjectReference
from wire.status import StatusError, Unavailable

WEB = ObjectReference(kind="HorizontalPodAutoscaler", namespace="n", name="web", uid="1")
SOURCE = EventSource(component="test")


def happened(message="m", *, at=0.0, reason="R", about=WEB):
    return new_event(
        about, type="Normal", reason=reason, message=message, source=SOURCE, now_seconds=at
    )


def told(correlator, *events):
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


def test_the_same_again_is_a_higher_count():
    correlator = Correlator()
    assert told(correlator, *((happened(at=t), t) for t in (0.0, 15.0, 30.0))) == [
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


def test_the_tenth_that_differs_by_its_message_only_is_combined():
    correlator = Correlator()
    written = told(correlator, *((happened(f"m{i}"), float(i)) for i in range(12)))
    assert written[:9] == [f"create m{i} x1" for i in range(9)]
    assert written[9:] == [
        f"create {COMBINED}m9 x1",
        f"patch {COMBINED}m10 x2",
        f"patch {COMBINED}m11 x3",
    ]


def test_what_is_similar_after_ten_quiet_minutes_is_new():
    correlator = Correlator()
    told(correlator, *((happened(f"m{i}"), float(i)) for i in range(12)))
    assert told(correlator, (happened("later"), 11 + 601.0)) == ["create later x1"]


def test_other_reasons_and_other_objects_are_not_similar():
    correlator = Correlator()
    other = ObjectReference(kind="HorizontalPodAutoscaler", namespace="n", name="api", uid="2")
    told(correlator, *((happened(f"m{i}"), float(i)) for i in range(9)))
    assert told(
        correlator, (happened("x", reason="S"), 9.0), (happened("x", about=other), 9.0)
    ) == [
        "create x x1",
        "create x x1",
    ]


def test_one_object_has_a_burst_and_then_one_every_five_minutes():
    correlator = Correlator()
    written = told(correlator, *((happened(at=1.0), 1.0) for _ in range(30)))
    assert written.count("-") == 5
    assert told(correlator, (happened(), 200.0), (happened(), 302.0), (happened(), 303.0)) == [
        "-",
        "patch m x32",
        "-",
    ]


@given(st.lists(st.tuples(st.floats(0, 30), st.sampled_from("abcdefghijklmnop")), max_size=200))
def test_no_object_ever_has_more_than_its_burst_and_refill(steps):
    correlator, now, written = Correlator(), 0.0, 0
    for pause, message in steps:
        now += pause
        written += correlator.correlate(happened(message, at=now), now_seconds=now) is not None
    assert written <= 25 + now / 300 + 1


@pytest.mark.parametrize("about", ["web", "Web:1", "a" * 300])
def test_every_object_gets_a_name_that_events_may_have(about):
    name = event_name(about, 1.5)
    assert len(name) <= 253
    assert name == name.lower()
    assert ":" not in name


class Events:
    """An API server that keeps what was sent, after failing as told."""

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


async def recorded(server, time, *messages):
    recorder = EventRecorder(
        server, component="test", sleep=time.pause, now=time.now, chance=lambda: 0.5
    )
    task = asyncio.create_task(recorder.run())
    for message in messages:
        recorder.event(WEB, "Normal", "R", message)
    await time.advance(300)
    await asyncio.wait_for(recorder.flushed(), timeout=5)
    task.cancel()
    return [method for method, _ in server.sent]


async def test_an_event_is_what_kubectl_shows(time):
    server = Events()
    assert await recorded(server, time, "scaled") == ["POST"]
    body = server.bodies[0]
    assert body["metadata"]["namespace"] == "n"
    assert body["involvedObject"] == {
        "kind": "HorizontalPodAutoscaler",
        "namespace": "n",
        "name": "web",
        "uid": "1",
    }
    assert (body["source"], body["reportingComponent"]) == ({"component": "test"}, "test")
    assert (body["firstTimestamp"], body["count"]) == ("1970-01-01T00:16:40Z", 1)


async def test_a_count_on_an_event_that_is_gone_makes_it_anew(time):
    gone = StatusError("gone", code=404, reason="NotFound")
    server = Events()
    assert await recorded(server, time, "m", "m") == ["POST", "PATCH"]
    server = Events()
    server.failures = []
    recorder = EventRecorder(server, component="test", sleep=time.pause, now=time.now)
    task = asyncio.create_task(recorder.run())
    recorder.event(WEB, "Normal", "R", "m")
    await recorder.flushed()
    server.failures = [gone]
    recorder.event(WEB, "Normal", "R", "m")
    await recorder.flushed()
    task.cancel()
    assert [method for method, _ in server.sent] == ["POST", "PATCH", "POST"]
    assert server.bodies[-1]["count"] == 2


async def test_an_outage_is_waited_for_a_refusal_is_not(time, caplog):
    assert await recorded(Events(Unavailable("x"), Unavailable("x")), time, "m") == ["POST"] * 3
    refused = StatusError("no", code=403, reason="Forbidden")
    assert await recorded(Events(refused), time, "m", "n") == ["POST", "POST"]
    assert "refused an event: no" in caplog.text


async def test_recording_never_waits(time):
    recorder = EventRecorder(Events(), component="test", sleep=time.pause, now=time.now)
    for number in range(QUEUE_MAX + 7):
        recorder.event(WEB, "Normal", "R", str(number))
    assert recorder.dropped == 7
