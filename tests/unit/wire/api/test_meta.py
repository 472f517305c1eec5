"""Metadata as it comes from a server, and times as Kubernetes keeps them."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.api.meta import LabelSelector, ObjectMeta, time_from_unix


def test_unknown_fields_are_ignored():
    body = (
        b'{"name":"web","managedFields":[{"manager":"x"}],"creationTimestamp":null,"selfLink":"/x"}'
    )
    assert msgspec.json.decode(body, type=ObjectMeta) == ObjectMeta(name="web")


def test_empty_fields_are_omitted():
    assert msgspec.json.encode(ObjectMeta()) == b"{}"
    assert msgspec.json.encode(LabelSelector()) == b"{}"


@pytest.mark.parametrize("text", ["2026-11-21T12:34:56Z", "2026-11-21T13:34:56+01:00"])
def test_times_are_read_with_their_zone(text):
    meta = msgspec.json.decode(f'{{"deletionTimestamp":"{text}"}}', type=ObjectMeta)
    assert meta.deletion_timestamp == datetime(2026, 11, 21, 12, 34, 56, tzinfo=UTC)


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 4e9))
def test_a_time_has_whole_seconds_and_is_never_in_the_future(seconds):
    time = time_from_unix(seconds)
    assert time.microsecond == 0
    assert timedelta(0) <= timedelta(seconds=seconds - time.timestamp()) <= timedelta(seconds=1)
