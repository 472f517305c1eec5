"""Streams of metrics in the simulation: the judge reads the frames, and would notice a scaler that ignores them."""

import msgspec
import pytest

from tests.simulation.__main__ import simulated
from tests.simulation.invariants import Run
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.simulate import Verdict
from tests.simulation.stream_invariants import streams_are_acted_on
from tests.simulation.streams import Frames, Stream

# One with an autoscaler that follows a queue without `behavior`, whose load grows to 12 replicas.
SEED = 2
PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue?labelSelector=app%3Dweb0"
BODY = (
    b'{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","items":'
    b'[{"metricName":"queue","metricLabels":{},"timestamp":"2026-01-01T00:00:00Z","value":"7"}]}'
)


def frame(payload: bytes, mask: bytes = b"") -> bytes:
    """A binary message, with the lengths of RFC 6455."""
    head = bytes([0x82])
    masked = 0x80 if mask else 0
    if len(payload) < 126:
        head += bytes([masked | len(payload)])
    elif len(payload) < 65_536:
        head += bytes([masked | 126]) + len(payload).to_bytes(2)
    else:
        head += bytes([masked | 127]) + len(payload).to_bytes(8)
    if not mask:
        return head + payload
    return head + mask + bytes(each ^ mask[at % 4] for at, each in enumerate(payload))


@pytest.mark.parametrize("size", [0, 1, 5, 125, 126, 65_535, 65_536])
@pytest.mark.parametrize("mask", [b"", b"\x01\x80\xff\x00"], ids=["adapter", "scaler"])
def test_messages_of_every_length_are_read_however_they_are_cut(size, mask):
    payload = bytes(at % 251 for at in range(size))
    data, frames = frame(payload, mask) * 2, Frames()
    assert frames.messages(data[:3]) + frames.messages(data[3:]) == [payload, payload]


def test_a_ping_is_not_a_message():
    assert Frames().messages(b"\x89\x00" + frame(b"{}")) == [b"{}"]


def test_a_confirmed_response_is_of_the_time_that_the_scaler_has_sent():
    noted = []
    stream = Stream(noted.append)
    stream.sent(frame(b'{"now":5.0,"watch":[{"id":1,"path":"' + PATH.encode() + b'"}]}'), 100.0)
    stream.received(
        frame(b'{"responses":[{"id":1,"code":200,"body":' + BODY + b"}]}"),
        101.0,
    )
    stream.sent(frame(b'{"now":6.0}'), 101.5)
    stream.received(frame(b'{"as_of":6.0}'), 102.5)
    assert [(each.sent_at, each.is_new) for each in noted] == [(101.0, True), (101.5, False)]
    assert {each.measured.target for each in noted} == {"shop/web0"}


@pytest.fixture
def verdict() -> Verdict:
    return simulated(SEED, "", scenarios="adapter streams")


def test_without_faults_metrics_are_streamed_and_nothing_is_violated(verdict):
    streamed = [each for each in verdict.journal.served if each.is_streamed]
    assert {each.status for each in streamed if each.group == EXTERNAL} == {200}
    assert verdict.violations == ()


def test_a_process_that_does_not_act_on_a_streamed_value_is_found(verdict):
    """The same run, as if no scale had been written, and the replicas were those of the beginning."""
    journal = verdict.journal
    run = Run(scenario=verdict.scenario, faults=verdict.faults, journal=journal)
    assert list(streams_are_acted_on(run)) == []
    journal.target_requests = [each for each in journal.target_requests if not each.is_write]
    for target, versions in journal.targets.items():
        journal.targets[target] = [msgspec.structs.replace(versions[0], replicas=2, pods=2)]
    assert {each.invariant for each in streams_are_acted_on(run)} == {"streams are acted on"}
