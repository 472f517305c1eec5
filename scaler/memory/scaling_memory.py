"""The kind ScalingMemory, in which the memories of HPAs are stored: pure.

An HPA has no field for its memory, and kube-controller-manager keeps it in the process only. So the scaler stores the memories
of each watched namespace in objects of its own namespace, `NAMESPACE` and, if they are many, `NAMESPACE.1` and so on.
"""

import msgspec

from scaler.model.memory import History
from wire import kube_json
from wire.loadline_api import API_VERSION
from wire.meta import ListMeta, ObjectMeta

KIND = "ScalingMemory"
PLURAL = "scalingmemories"
# An object may have 1.5 MiB in etcd. One history has at most some kilobytes.
OBJECT_BYTES_MAX = 512 * 1024


class StoredHistory(History, frozen=True, kw_only=True):
    """The history of one HPA, and the replicas that it had then."""

    replicas: int


class ScalingMemory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The histories of one namespace, by the uid of the HPA."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: ObjectMeta = ObjectMeta()
    watched_namespace: str = ""
    histories: dict[str, StoredHistory] = {}


class ScalingMemoryList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a LIST; each item is decoded on its own, so that a damaged one does not affect the others."""

    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


class StoredObject:
    """The histories of one object, and whether they were changed since it was written."""

    def __init__(self, metadata: ObjectMeta, watched_namespace: str) -> None:
        self.metadata = metadata
        self.watched_namespace = watched_namespace
        self.is_changed = False
        self.size_bytes = 0
        self._encoded: dict[str, bytes] = {}

    def get(self, uid: str) -> StoredHistory:
        """The history of an HPA that has one here."""
        return kube_json.decode(self._encoded[uid], StoredHistory)

    def put(self, uid: str, history: StoredHistory) -> None:
        """Add or replace a history."""
        self._set(uid, msgspec.json.encode(history))

    def remove(self, uid: str) -> None:
        """Of an HPA that was deleted."""
        self._set(uid, b"")

    def fits(self, history_bytes: int) -> bool:
        """Whether another history fits."""
        return self.size_bytes + history_bytes <= OBJECT_BYTES_MAX

    def document(self) -> bytes:
        """The object as it is written."""
        memory = ScalingMemory(metadata=self.metadata, watched_namespace=self.watched_namespace)
        histories = {uid: msgspec.Raw(encoded) for uid, encoded in self._encoded.items()}
        return msgspec.json.encode({**msgspec.to_builtins(memory), "histories": histories})

    def _set(self, uid: str, encoded: bytes) -> None:
        before = self._encoded.pop(uid, b"")
        if encoded:
            self._encoded[uid] = encoded
        self.size_bytes += len(encoded) - len(before)
        self.is_changed = self.is_changed or encoded != before
