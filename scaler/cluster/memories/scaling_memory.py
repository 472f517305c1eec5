"""The kind ScalingMemory, in which the memories of HPAs are stored: pure.

An HPA has no field for its memory, and kube-controller-manager keeps it in the process only. So the scaler stores the memories
of each watched namespace in objects of its own namespace, `NAMESPACE` and, if they are many, `NAMESPACE.1` and so on.
"""

from collections.abc import Iterator

import msgspec

from scaler.api.history import History
from wire.api import kube_json
from wire.api.loadline import API_VERSION
from wire.api.meta import ObjectMeta

KIND = "ScalingMemory"
PLURAL = "scalingmemories"
# An object may have 1.5 MiB in etcd. One history has at most some kilobytes.
OBJECT_BYTES_MAX = 512 * 1024


class StoredHistory(History, frozen=True, kw_only=True):
    """The history of one HPA, and the replicas that it had then."""

    replicas: int

    @property
    def newest_unix_seconds(self) -> float:
        """The newest time in it."""
        events = (*self.scale_up_events, *self.scale_down_events)
        return max(
            (
                *(each.until_unix_seconds for each in self.recommendations or ()),
                *(each.happened_at_unix_seconds for each in events),
            ),
            default=0.0,
        )


class ScalingMemory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The histories of one namespace, by the uid of the HPA."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: ObjectMeta = ObjectMeta()
    watched_namespace: str = ""
    histories: dict[str, StoredHistory] = {}


class StoredObject:
    """The histories of one object, and whether they were changed since it was written."""

    def __init__(
        self, metadata: ObjectMeta, watched_namespace: str, *, bytes_max: int = OBJECT_BYTES_MAX
    ) -> None:
        self._bytes_max = bytes_max
        self.moved_here: list[tuple[StoredObject, str]] = []
        """Histories that are removed from another object once this one is written."""
        self.metadata = metadata
        self.watched_namespace = watched_namespace
        self.is_changed = False
        self.failures = 0
        """How many writes have failed since the last one that did not."""
        self.size_bytes = 0
        self._encoded: dict[str, bytes] = {}

    @property
    def is_empty(self) -> bool:
        """Whether it has no histories, so that it can be deleted."""
        return not self._encoded

    @property
    def is_deleted(self) -> bool:
        """Whether it has no histories, and does not exist on the API server."""
        return self.is_empty and not self.metadata.resource_version

    def get(self, uid: str) -> StoredHistory:
        """The history of an HPA that has one here."""
        return kube_json.decode(self._encoded[uid], StoredHistory)

    def put(self, uid: str, history: StoredHistory) -> None:
        """Add or replace a history."""
        self._set(uid, msgspec.json.encode(history))

    def remove(self, uid: str) -> None:
        """Of an HPA that was deleted."""
        self._set(uid, b"")

    def fits(self, uid: str, history: StoredHistory) -> bool:
        """Whether this history fits, or replaces the one with the same uid. One alone always does."""
        others_bytes = self.size_bytes - _size_bytes(uid, self._encoded.get(uid, b""))
        history_bytes = _size_bytes(uid, msgspec.json.encode(history))
        return not others_bytes or others_bytes + history_bytes <= self._bytes_max

    def document(self) -> bytes:
        """The object as it is written."""
        memory = ScalingMemory(metadata=self.metadata, watched_namespace=self.watched_namespace)
        histories = {uid: msgspec.Raw(encoded) for uid, encoded in self._encoded.items()}
        return msgspec.json.encode({**msgspec.to_builtins(memory), "histories": histories})

    def _set(self, uid: str, encoded: bytes) -> None:
        before = self._encoded.pop(uid, b"")
        if encoded:
            self._encoded[uid] = encoded
        self.size_bytes += _size_bytes(uid, encoded) - _size_bytes(uid, before)
        self.is_changed = self.is_changed or encoded != before


def _size_bytes(uid: str, encoded: bytes) -> int:
    """Of `"uid":{...},`."""
    return len(uid) + len(encoded) + 4 if encoded else 0


class _Written(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def metadata_of(body: bytes) -> ObjectMeta:
    """Of an object as it was written or read. Raises `msgspec.DecodeError`."""
    return kube_json.decode(kube_json.of_kind(body, KIND), _Written).metadata


def object_names(namespace: str) -> Iterator[str]:
    """The names of the objects of a watched namespace, without an end."""
    yield namespace
    number = 0
    while True:
        number += 1
        yield f"{namespace}.{number}"
