"""The ScalingMemory objects of the model API server, and what the journal takes from them."""

from typing import Any

import msgspec

from tests.simulation.cluster import Cluster, Document, setting
from tests.simulation.journal import Journal, MemoryObjectWritten, MemoryRead, MemoryStored
from tests.simulation.network import Request, Response
from tests.simulation.timeline import Timeline

MEMORIES = "scalingmemories"
# The schema of the CustomResourceDefinition accepts it, and it has no meaning.
DAMAGED: Document = {"replicas": 1, "recommendations": [{}]}


class MemoryObjects:
    """Writes them, and notes which HPA has which memory."""

    def __init__(self, timeline: Timeline, cluster: Cluster, journal: Journal) -> None:
        self._timeline = timeline
        self._cluster = cluster
        self._journal = journal

    def write(self, request: Request) -> Response:
        """POST, PUT or DELETE of one object. Raises `ApiError`."""
        if request.method == "DELETE":
            return self._delete(request)
        collection, namespace = self._cluster[MEMORIES], request.parts[4]
        given: Document = msgspec.json.decode(request.body)
        name = given["metadata"]["name"]
        before = self._histories(namespace, name)
        content = {key: given[key] for key in ("watchedNamespace", "histories")}
        if request.method == "POST":
            collection.create({"metadata": {"namespace": namespace, "name": name}, **content})
        else:
            metadata = given["metadata"]
            collection.update(
                namespace, name, lambda found: found.update(content), given=metadata
            )  # fmt: skip
        self._note_written(request, name, before, content["histories"])
        return Response(
            status=201 if request.method == "POST" else 200,
            body=collection.encoded(namespace, name),
        )

    def _delete(self, request: Request) -> Response:
        collection, namespace, name = self._cluster[MEMORIES], request.parts[4], request.parts[6]
        before = self._histories(namespace, name)
        given: Document = msgspec.json.decode(request.body)["preconditions"]
        collection.update(namespace, name, lambda _: None, given=given)
        collection.delete(namespace, name)
        self._note_written(request, name, before, {})
        return Response(body=b'{"kind":"Status","apiVersion":"v1","status":"Success"}')

    def note_read(self, request: Request, listed: bytes) -> None:
        """A process gets this page of a LIST."""
        keys = self._keys()
        for found in msgspec.json.decode(listed)["items"]:
            histories = found["histories"]
            is_damaged = DAMAGED in histories.values()
            for uid in histories:
                if uid in keys:
                    read = MemoryRead(
                        at=self._timeline.now, process=request.process, key=keys[uid], is_damaged=is_damaged,
                    )  # fmt: skip
                    self._journal.memories_read.append(read)

    def spoil(self, watched_namespace: str, *, how: str) -> None:
        """A user deletes the objects of a namespace, or changes the first history in them so that it cannot be decoded."""
        collection, keys = self._cluster[MEMORIES], self._keys()
        for (namespace, name), found in tuple(collection.objects.items()):
            histories = found["histories"]
            if found["watchedNamespace"] != watched_namespace or not histories:
                continue
            if how == "deleted":
                collection.delete(namespace, name)
            else:
                spoilt = {**histories, next(iter(histories)): DAMAGED}
                collection.update(namespace, name, setting(histories=spoilt))
            self._note("", {keys[uid]: None for uid in histories if uid in keys}, is_damage=True)

    def histories(self) -> dict[str, Document]:
        """By the keys of the HPAs that exist now."""
        keys, found = self._keys(), dict[str, Document]()
        for each in self._cluster[MEMORIES].objects.values():
            for uid, history in each["histories"].items():
                if uid in keys:
                    found[keys[uid]] = history
        return found

    def restored(self, before: dict[str, Document]) -> None:
        """The histories were `before`, and those of a backup are in their place."""
        now = self.histories()
        changed: dict[str, int | None] = {
            key: now[key]["replicas"] if key in now else None
            for key in before | now
            if before.get(key) != now.get(key)
        }
        self._note("", changed, is_damage=True)

    def _note_written(self, request: Request, name: str, before: Document, after: Document) -> None:
        written = MemoryObjectWritten(
            at=self._timeline.now, process=request.process, name=name, bytes=len(request.body)
        )
        self._journal.memory_objects.append(written)
        keys = self._keys()
        changed: dict[str, int | None] = {
            keys[uid]: after[uid]["replicas"] if uid in after else None
            for uid in (before | after)
            if uid in keys and before.get(uid) != after.get(uid)
        }
        self._note(request.process, changed)

    def _note(
        self, process: str, changed: dict[str, int | None], *, is_damage: bool = False
    ) -> None:
        now = self._timeline.now
        for key, replicas in changed.items():
            self._journal.say(now, f"the stored memory of {key}: {replicas} replicas")
            self._journal.memories_stored.append(
                MemoryStored(
                    at=now, process=process, key=key, replicas=replicas, is_damage=is_damage
                )
            )

    def _histories(self, namespace: str, name: str) -> Document:
        found = self._cluster[MEMORIES].objects.get((namespace, name))
        histories: dict[str, Any] = {} if found is None else found["histories"]
        return histories

    def _keys(self) -> dict[str, str]:
        """The HPAs that exist now, by uid."""
        return {
            found["metadata"]["uid"]: f"{namespace}/{name}"
            for (namespace, name), found in self._cluster[
                "horizontalpodautoscalers"
            ].objects.items()
        }
