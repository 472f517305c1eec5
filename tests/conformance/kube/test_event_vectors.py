"""Of many events, those are written that client-go's correlator writes, and as it writes them."""

from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scaler.cluster.events.correlation import (
    Correlator,
    Event,
    EventMetadata,
    EventSource,
    new_event,
)
from testbed.vectors import lines
from wire.api.meta import ObjectReference


class Written(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    message: str
    count: int
    first_seconds: int
    last_seconds: int


class Row(msgspec.Struct, frozen=True):
    story: int
    seconds: int
    object: str
    type: str
    reason: str
    message: str
    name: str
    skipped: bool
    written: Written | None
    patch: dict[str, Any] | None


LINES = lines(Path(__file__).parent / "events.jsonl")
STORIES = [
    list(rows)
    for _, rows in groupby(
        (msgspec.json.decode(line, type=Row) for line in LINES), lambda row: row.story
    )
]


def event_of(row: Row) -> Event:
    about = ObjectReference(kind="K", namespace="n", name=row.object, uid="u")
    event = new_event(
        about,
        type=row.type,
        reason=row.reason,
        message=row.message,
        source=EventSource(component="c"),
        now_seconds=row.seconds,
    )
    return msgspec.structs.replace(event, metadata=EventMetadata(name=row.name, namespace="n"))


@pytest.mark.parametrize("story", STORIES, ids=lambda story: f"story {story[0].story}")
def test_the_events_of_a_sequence_are_written_as_by_client_go(story):
    correlator = Correlator()
    for row in story:
        write = correlator.correlate(event_of(row), now_seconds=row.seconds)
        if write is None:
            assert row.skipped, row
            continue
        event = write.event
        assert row.written == Written(
            name=event.metadata.name,
            message=event.message,
            count=event.count,
            first_seconds=int(event.first_timestamp.timestamp()),
            last_seconds=int(event.last_timestamp.timestamp()),
        )
        patch = msgspec.json.decode(write.patch) if write.patch else None
        assert patch == row.patch
