"""An API server that keeps ScalingMemory objects, for the tests of this directory."""

import asyncio
import json

from scaler.api.history import Recommendation, ScaleEvent
from scaler.cluster.memories.scaling_memory import StoredHistory
from scaler.cluster.memories.store import MemoryStore
from scaler.cluster.shards.assignment import ALL_SHARDS
from wire.api.status import conflict, not_found
from wire.process.background_tasks import stopped

NAMESPACES = ("shop", "bank", "mail")
FOLDER = "/apis/loadline.io/v1beta1/namespaces/loadline/scalingmemories"


def history(replicas, events=1):
    return StoredHistory(
        recommendations=(
            Recommendation(replicas=replicas, since_unix_seconds=1.0, until_unix_seconds=2.0),
        ),
        scale_up_events=tuple(
            ScaleEvent(replica_change=n, happened_at_unix_seconds=float(n)) for n in range(events)
        ),
        replicas=replicas,
    )


class Server:
    """Optimistic locking, pages of two objects, and failures that are raised once each."""

    def __init__(self):
        self.objects = {}
        self.version = 0
        self.writes = 0
        self.failures = []
        self.is_hanging = False
        self.waiting = 0
        self.go_on = asyncio.Event()

    async def _wait(self):
        if self.is_hanging:
            self.waiting += 1
            await self.go_on.wait()

    def _fail(self):
        if self.failures:
            raise self.failures.pop(0)

    async def get(self, path, params=None, *, accept=""):
        await self._wait()
        self._fail()
        if path != FOLDER:
            return self._one(path.rpartition("/")[2])
        start = int((params or {}).get("continue", "0"))
        found = list(self.objects.values())
        more = str(start + 2) if start + 2 < len(found) else ""
        page = {"metadata": {"continue": more}, "items": found[start : start + 2]}
        return json.dumps(page).encode()

    async def create(self, path, body, params=None):
        await self._wait()
        self._fail()
        name = json.loads(body)["metadata"]["name"]
        if name in self.objects:
            raise conflict("exists")
        return self._store(body)

    async def replace(self, path, body, params=None):
        self._fail()
        given = json.loads(body)["metadata"]
        current = self.objects.get(path.rpartition("/")[2])
        if current is None:
            raise not_found("deleted")
        if current["metadata"]["resourceVersion"] != given["resourceVersion"]:
            raise conflict("changed")
        return self._store(body)

    async def delete(self, path, *, resource_version):
        await self._wait()
        self._fail()
        name = path.rpartition("/")[2]
        if name not in self.objects:
            raise not_found("deleted")
        if self.objects[name]["metadata"]["resourceVersion"] != resource_version:
            raise conflict("changed")
        self.writes += 1
        del self.objects[name]
        return b"{}"

    async def patch(self, path, body, *, content_type="", params=None):
        raise NotImplementedError

    def _store(self, body):
        self.version += 1
        self.writes += 1
        document = json.loads(body)
        document["metadata"]["resourceVersion"] = str(self.version)
        self.objects[document["metadata"]["name"]] = document
        return json.dumps(document).encode()

    def _one(self, name):
        if name not in self.objects:
            raise not_found(name)
        return json.dumps(self.objects[name]).encode()

    def uids(self):
        return {name: sorted(each["histories"]) for name, each in self.objects.items()}


async def no_pause(seconds):
    await asyncio.sleep(0)


def over(server, **options):
    return MemoryStore(
        server, namespace="loadline", period_seconds=1000.0, sleep=no_pause, **options
    )


async def started(server, existing=None):
    store = over(server)
    await read(store, existing or {})
    return store


async def read(store, existing, shards=ALL_SHARDS):
    """Read the memories of these shards, or find that they may not be read."""
    store.begin(shards, lambda: existing)
    reading = asyncio.create_task(store.read())
    for namespace in NAMESPACES:
        await store.read_or_late(namespace)
    await stopped(reading)
