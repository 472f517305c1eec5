"""What the model API server keeps: objects with versions, their history, and those who watch.

As kube-apiserver: one counter of versions, optimistic locking, a watch goes on from any version that
is still remembered and is refused with 410 from an older one.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tests.simulation.network import Connection, Response
from tests.simulation.timeline import Timeline

BOOKMARK_SECONDS = 60.0
WATCH_LATENCY_SECONDS = 0.002
HISTORY_MAX = 1000
# By `etcdutl snapshot restore --bump-revision`: later than all that a client has seen.
REVISIONS_BUMPED = 1_000_000

Document = dict[str, Any]


class ApiError(Exception):
    """An answer that is a meta/v1 Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.response = status_response(code, reason, message)


def status_response(code: int, reason: str, message: str, **headers: str) -> Response:
    """A failure as the API server words it."""
    body = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    }  # fmt: skip
    return Response(status=code, body=msgspec.json.encode(body), headers=headers)


def setting(**fields: object) -> Callable[[Document], object]:
    """A change of an object that gives it these fields."""
    return lambda document: document.update(fields)


class Watcher:
    """One watch that is open."""

    def __init__(self, collection: "Collection", connection: Connection, namespace: str) -> None:
        self.collection = collection
        self.connection = connection
        self.namespace = namespace
        self.process = ""
        self.since = 0
        self._last = 0.0

    def send(
        self,
        kind: str,
        encoded: bytes,
        *,
        delay: float = WATCH_LATENCY_SECONDS,
        at: float | None = None,
    ) -> None:
        """One event, of now or of an earlier time, never before an earlier event; a watch cache that is stale or behind holds it back."""
        if self.collection.cluster.version < self.since:
            return  # as kube-apiserver: nothing, until there are versions after the one that the watch begins with
        timeline = self.collection.cluster.timeline
        held = self.collection.cluster.held_until(self.process, self.collection.plural)
        shown = (timeline.now if at is None else at) + (self.connection.lag_seconds or 0.0)
        self._last = max(self._last, timeline.now + delay, shown, held)
        timeline.at(
            self._last, self._deliver, b'{"type":"%b","object":%b}\n' % (kind.encode(), encoded)
        )

    def _deliver(self, line: bytes) -> None:
        if self in self.collection.watchers:
            self.connection.stream(line)

    def bookmark(self) -> None:
        """Say which version is the newest, so that the watch can go on from there."""
        if self in self.collection.watchers:
            version = str(self.collection.cluster.version)
            meta = {"kind": self.collection.kind, "apiVersion": self.collection.api_version,
                    "metadata": {"resourceVersion": version}}  # fmt: skip
            self.send("BOOKMARK", msgspec.json.encode(meta))
            self.collection.cluster.timeline.after(BOOKMARK_SECONDS, self.bookmark)

    def expire(self) -> None:
        """As the watch cache does when it has lost what comes next: an ERROR event, and then the end of the stream."""
        self.send("ERROR", status_response(410, "Expired", "too old resource version").body)
        self.collection.cluster.timeline.at(self._last, self.end)

    def repeat(self) -> None:
        """The last event once more."""
        for _, kind, of, encoded, _ in tuple(self.collection.history)[-1:]:
            if self.namespace in ("", of):
                self.send(kind, encoded)

    def end(self) -> None:
        """The server's time limit is over."""
        if self in self.collection.watchers:
            self.collection.watchers.discard(self)
            self.connection.end_stream()

    def closed(self) -> None:
        """The process has gone."""
        self.collection.watchers.discard(self)


class Collection:
    """The objects of one resource, by namespace and name."""

    def __init__(self, cluster: "Cluster", api_version: str, kind: str, plural: str) -> None:
        self.cluster = cluster
        self.api_version = api_version
        self.kind = kind
        self.plural = plural
        self.objects: dict[tuple[str, str], Document] = {}
        self.watchers: set[Watcher] = set()
        self._encoded: dict[tuple[str, str], bytes] = {}
        self.history: deque[tuple[int, str, str, bytes, float]] = deque()
        self._forgotten_version = 0
        self._pages: dict[str, tuple[int, list[bytes]]] = {}

    def find(self, namespace: str, name: str) -> Document:
        """Raises `ApiError` 404."""
        found = self.objects.get((namespace, name))
        if found is None:
            group = self.api_version.partition("/")[0] if "/" in self.api_version else ""
            shown = f"{self.plural}.{group}" if group else self.plural
            raise ApiError(404, "NotFound", f'{shown} "{name}" not found')
        return found

    def encoded(self, namespace: str, name: str) -> bytes:
        """The object as JSON."""
        return self._encoded[namespace, name]

    def create(self, document: Document) -> Document:
        """Raises `ApiError` 409."""
        metadata = document["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if key in self.objects:
            raise ApiError(409, "AlreadyExists", f'{self.plural} "{key[1]}" already exists')
        metadata["uid"] = self.cluster.new_uid()
        metadata["generation"] = 1
        metadata["creationTimestamp"] = self.cluster.timestamp()
        document.setdefault("apiVersion", self.api_version)
        document.setdefault("kind", self.kind)
        return self._store(key, document, "ADDED")

    def update(
        self,
        namespace: str,
        name: str,
        change: Callable[[Document], object],
        *,
        given: Document | None = None,
    ) -> Document:
        """`change` edits the object; `given` is the writer's metadata. Raises `ApiError` 404 and 409."""
        found = self.find(namespace, name)
        metadata = found["metadata"]
        version, uid = (given or {}).get("resourceVersion"), (given or {}).get("uid")
        if (version and version != metadata["resourceVersion"]) or (uid and uid != metadata["uid"]):
            raise ApiError(
                409, "Conflict",
                f'Operation cannot be fulfilled on {self.plural} "{name}": the object has been modified; '
                "please apply your changes to the latest version and try again",
            )  # fmt: skip
        edited = {**found, "metadata": {**metadata}}
        change(edited)
        if edited == found:
            return found  # as etcd: what changes nothing makes no version
        if edited.get("spec") != found.get("spec"):
            edited["metadata"]["generation"] += 1
        return self._store((namespace, name), edited, "MODIFIED")

    def delete(self, namespace: str, name: str) -> None:
        """Raises `ApiError` 404."""
        found = self.find(namespace, name)
        del self.objects[namespace, name], self._encoded[namespace, name]
        gone = {
            **found,
            "metadata": {**found["metadata"], "resourceVersion": str(self.cluster.new_version())},
        }
        self._tell("DELETED", gone, msgspec.json.encode(gone))

    def listed(self, namespace: str, limit: int, token: str) -> bytes:
        """One page of a LIST, as it was when the first page was requested. Raises `ApiError` 410."""
        if token and token not in self._pages:
            raise ApiError(410, "Expired", "The provided continue parameter is too old")
        version, found = (
            self._pages.pop(token)
            if token
            else (
                self.cluster.version,
                [item for (of, _), item in self._encoded.items() if namespace in ("", of)],
            )
        )
        page, rest = found[:limit], found[limit:]
        following = f"{self.cluster.new_version()}" if rest else ""
        if rest:
            self._pages[following] = (version, rest)
        metadata = {"resourceVersion": str(version), "continue": following}
        return b'{"kind":"%bList","apiVersion":"%b","metadata":%b,"items":[%b]}' % (
            self.kind.encode(),
            self.api_version.encode(),
            msgspec.json.encode(metadata),
            b",".join(page),
        )

    def watch(
        self, connection: Connection, process: str, namespace: str, version: str, seconds: float
    ) -> None:
        """Raises `ApiError` 410 for a version that is forgotten."""
        since = int(version or self.cluster.version)
        if since < self._forgotten_version:
            raise ApiError(
                410, "Expired", f"too old resource version: {since} ({self._forgotten_version})"
            )
        watcher = Watcher(self, connection, namespace)
        watcher.process, watcher.since = process, since
        connection.begin_stream()
        connection.on_closed.append(watcher.closed)
        for at_version, kind, of, encoded, at in self.history:
            if at_version > since and (not namespace or of == namespace):
                watcher.send(kind, encoded, at=at)
        self.watchers.add(watcher)
        self.cluster.timeline.after(seconds, watcher.end)
        self.cluster.timeline.after(BOOKMARK_SECONDS, watcher.bookmark)

    def compact(self) -> None:
        """Forget the history: a watch from the past gets 410."""
        self.history.clear()
        self._pages.clear()
        self._forgotten_version = self.cluster.version

    def restore(self, objects: Mapping[tuple[str, str], Document]) -> None:
        """Replace all objects, as etcd does from a backup: no watch sees it, and the history begins with the present version."""
        self.compact()
        before, self.objects = self.objects, {**objects}
        self._encoded = {key: msgspec.json.encode(each) for key, each in objects.items()}
        for listener in self.cluster.listeners:
            for key, document in before.items():
                if key not in objects:
                    listener(self, "DELETED", document)
            for key, document in objects.items():
                if before.get(key) != document:
                    listener(self, "MODIFIED", document)

    def _store(self, key: tuple[str, str], document: Document, kind: str) -> Document:
        document["metadata"]["resourceVersion"] = str(self.cluster.new_version())
        self.objects[key] = document
        self._encoded[key] = msgspec.json.encode(document)
        self._tell(kind, document, self._encoded[key])
        return document

    def _tell(self, kind: str, document: Document, encoded: bytes) -> None:
        namespace = document["metadata"]["namespace"]
        for listener in self.cluster.listeners:
            listener(self, kind, document)
        now = self.cluster.timeline.now
        self.history.append((self.cluster.version, kind, namespace, encoded, now))
        if len(self.history) > HISTORY_MAX:
            self._forgotten_version = self.history.popleft()[0]
        for watcher in tuple(self.watchers):
            if not watcher.namespace or watcher.namespace == namespace:
                watcher.send(kind, encoded)


class Backup(msgspec.Struct, frozen=True):
    """All objects by their collection, as they were at this time."""

    at: float
    version: int
    objects: dict[str, dict[tuple[str, str], Document]]


class Cluster:
    """All of it."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.version = 1000
        self._uids = 0
        self.collections: dict[str, Collection] = {}
        self.listeners: list[Callable[[Collection, str, Document], None]] = []
        """Called with each object that is created, changed or deleted, and the type of the event."""
        self.holds: dict[tuple[str, str], float] = {}
        """Until when the watch events of a resource do not reach a process."""

    def add(self, api_version: str, kind: str, plural: str) -> Collection:
        """One more resource."""
        self.collections[plural] = Collection(self, api_version, kind, plural)
        return self.collections[plural]

    def __getitem__(self, plural: str) -> Collection:
        return self.collections[plural]

    def backup(self) -> Backup:
        """Of this moment."""
        objects = {plural: {**each.objects} for plural, each in self.collections.items()}
        return Backup(self.timeline.now, self.version, objects)

    def restore(self, backup: Backup, *, is_bumped: bool) -> None:
        """All objects are those of the backup. The versions, too, or later than all before, as with `--bump-revision --mark-compacted`."""
        self.version = self.version + REVISIONS_BUMPED if is_bumped else backup.version
        for plural, objects in backup.objects.items():
            self.collections[plural].restore(objects)

    def new_version(self) -> int:
        """The next of the one counter."""
        self.version += 1
        return self.version

    def new_uid(self) -> str:
        """Never given twice."""
        self._uids += 1
        return f"00000000-0000-4000-8000-{self._uids:012x}"

    def timestamp(self) -> str:
        """The server's wall clock, which is always right."""
        return self.timeline.timestamp(self.timeline.now)

    def held_until(self, process: str, plural: str) -> float:
        """When the events of a stale watch cache come through again."""
        return self.holds.get((process.partition(".")[0], plural), 0.0)
