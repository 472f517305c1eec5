"""PURE: which of many events are written, and how. Upstream: client-go v0.36.3, tools/record/events_cache.go.

Three rules, in this order: from the tenth event within ten minutes on, events that differ only by
their message are combined into one; an event that was written before gets a higher count; one object
may have 25 events of a type at once, and one more every five minutes. Upstream remembers 4,096 of each
and so stops limiting when more objects fail; here the memory fits the number of objects. Of a text, which may be long, only
a hash is remembered.
"""

import datetime
import hashlib
import re
import zlib

import msgspec
from cachetools import LRUCache

from scaler.api.json_object import JsonObject
from scaler.cluster.events.token_bucket import Refill, TokenBucket
from wire.api.meta import ObjectReference, time_from_unix

# Twice as many as the memory of the chart is enough for. Of one object, at most 5 KB are remembered.
OBJECTS_MAX = 20_000
# An object has events of both types, and of a handful of reasons.
TYPES = 2
REASONS = 4
SIMILAR_MAX = 10
SIMILAR_WITHIN_SECONDS = 600.0
SPAM = Refill(burst=25, seconds_per_token=300.0)
COMBINED = "(combined from similar events): "

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH_MAX = 253


class EventSource(JsonObject, frozen=True, kw_only=True):
    """The component that reports the event."""

    component: str = ""
    host: str = ""


class EventMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Name and namespace of the event itself."""

    name: str
    namespace: str


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A `core/v1` Event as this program writes it; `type` is Normal or Warning."""

    kind: str = "Event"
    api_version: str = "v1"
    metadata: EventMetadata
    involved_object: ObjectReference
    type: str
    reason: str
    message: str
    source: EventSource
    reporting_component: str
    reporting_instance: str = ""
    first_timestamp: datetime.datetime
    last_timestamp: datetime.datetime
    count: int = 1


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """What to send: a new event, or `patch` to the one of that name (which may be gone: then create)."""

    event: Event
    patch: bytes | None = None


class _Similar(msgspec.Struct):
    messages: tuple[bytes, ...]
    """Hashes of fewer than `SIMILAR_MAX` different ones."""
    last_seconds: float


class _Written(msgspec.Struct, frozen=True):
    name: str
    first_timestamp: datetime.datetime
    count: int


class Correlator:
    """Remembers what was written. Time is an argument: Unix seconds."""

    def __init__(self, *, objects_max: int = OBJECTS_MAX) -> None:
        """`objects_max`: of how many objects; beyond that, those without recent events are forgotten."""
        per_reason = objects_max * REASONS
        # By hash: what is remembered of an event has the same size, whatever its texts are.
        self._similar: LRUCache[bytes, _Similar] = LRUCache(per_reason)
        self._written: LRUCache[bytes, _Written] = LRUCache(per_reason)
        self._buckets: LRUCache[bytes, TokenBucket] = LRUCache(objects_max * TYPES)

    def correlate(self, event: Event, *, now_seconds: float) -> Write | None:
        """How to write `event`; None when it is not written, because its object has had too many."""
        combined, key = self._combined(event, now_seconds)
        write = self._counted(combined, key)
        return write if self._is_allowed(combined, now_seconds) else None

    def _combined(self, event: Event, now_seconds: float) -> tuple[Event, bytes]:
        about = _about(event)
        key = _hash(*about, event.reason, event.reporting_component, event.reporting_instance)
        similar = self._similar.get(key)
        if similar is None or now_seconds - similar.last_seconds > SIMILAR_WITHIN_SECONDS:
            similar = _Similar((), now_seconds)
        similar.last_seconds = now_seconds
        self._similar[key] = similar
        message = _hash(event.message)
        if message not in similar.messages and len(similar.messages) + 1 < SIMILAR_MAX:
            similar.messages += (message,)
        if message in similar.messages:
            named = event.involved_object.field_path, event.reason, event.message
            return event, _hash(*about, *named)
        # Upstream forgets a random one; here it is this one. What matters is that there are many.
        now = time_from_unix(now_seconds)
        combined = msgspec.structs.replace(
            event,
            metadata=EventMetadata(
                name=event_name(event.involved_object.name, now_seconds),
                namespace=event.metadata.namespace,
            ),
            message=COMBINED + event.message,
            first_timestamp=now,
            last_timestamp=now,
            count=1,
        )
        return combined, key

    def _counted(self, event: Event, key: bytes) -> Write:
        before = self._written.get(key)
        patch = None
        if before is not None:
            event = msgspec.structs.replace(
                event,
                metadata=EventMetadata(name=before.name, namespace=event.metadata.namespace),
                first_timestamp=before.first_timestamp,
                count=before.count + 1,
            )
            changed = {
                "count": event.count,
                "lastTimestamp": event.last_timestamp,
                "message": event.message,
            }
            patch = msgspec.json.encode(changed)
        self._written[key] = _Written(event.metadata.name, event.first_timestamp, event.count)
        return Write(event=event, patch=patch)

    def _is_allowed(self, event: Event, now_seconds: float) -> bool:
        key = _hash(*_about(event))
        bucket = self._buckets.get(key) or TokenBucket(float(SPAM.burst), now_seconds)
        self._buckets[key] = bucket
        return bucket.take(SPAM, now_seconds=now_seconds)


def new_event(
    about: ObjectReference,
    *,
    type: str,  # noqa: A002 - the field's name in the API
    reason: str,
    message: str,
    source: EventSource,
    now_seconds: float,
) -> Event:
    """An event that happened now. That of a cluster-scoped object is in the namespace `default`."""
    now = time_from_unix(now_seconds)
    return Event(
        metadata=EventMetadata(
            name=event_name(about.name, now_seconds), namespace=about.namespace or "default"
        ),
        involved_object=about,
        type=type,
        reason=reason,
        message=message,
        source=source,
        reporting_component=source.component,
        reporting_instance=source.host,
        first_timestamp=now,
        last_timestamp=now,
    )


def event_name(about: str, now_seconds: float) -> str:
    """`web.18c4f2a7d3b0e1f0`: the object and the nanosecond."""
    stamp = f"{int(now_seconds * 1e9):x}"
    name = f"{about}.{stamp}"
    if len(name) <= _NAME_LENGTH_MAX and _SUBDOMAIN.fullmatch(name):
        return name
    # Upstream takes a UUID where the object's name is not valid in an event's name.
    return f"event.{zlib.crc32(about.encode()):x}.{stamp}"


def _hash(*texts: str) -> bytes:
    """Of these texts one after the other, each with its length."""
    joined = "".join(f"{len(text)}:{text}" for text in texts)
    return hashlib.blake2b(joined.encode(errors="surrogatepass"), digest_size=16).digest()


def _about(event: Event) -> tuple[str, ...]:
    """What all keys begin with: source, object and type."""
    about = event.involved_object
    return (
        event.source.component,
        event.source.host,
        about.kind,
        about.namespace,
        about.name,
        about.uid,
        about.api_version,
        event.type,
    )
