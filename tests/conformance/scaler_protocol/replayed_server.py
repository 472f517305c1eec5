"""An API server whose answers wait until a trace says what becomes of the request."""

import asyncio
import json

from tests.fakes import json_patch
from wire.api.status import Unavailable, conflict, not_found
from wire.kube.requests import JSON, Writer

SHARDS = (5, 53)
NAMESPACE = "loadline"


class Server:
    """Objects by path, with optimistic locking."""

    def __init__(self):
        self.objects = {}
        self.version = 0
        self.replicas = 1

    def carry_out(self, method, path, body):
        if path.endswith("/scale"):
            return self._scale(method, body)
        if path.endswith("/status"):
            return body
        if method == "GET":
            return self._read(path)
        document = json.loads(body)
        if method == "PATCH":
            document = json_patch.patched(self.objects[path], body)
        if method == "POST":
            path = f"{path}/{document['metadata']['name']}"
        if method == "PUT" and path not in self.objects:
            raise not_found(path)
        if self._is_outdated(path, document):
            raise conflict("changed")
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        document["metadata"].setdefault("uid", f"uid-{self.version}")
        self.objects[path] = document
        return json.dumps(document).encode()

    def conflicts(self, request):
        """Whether a write has another version than what is stored now."""
        document = json.loads(request.body)
        path = request.path
        if request.method == "POST":
            path = f"{path}/{document['metadata']['name']}"
        return self._is_outdated(path, document)

    def _is_outdated(self, path, document):
        """Without a version, it is to be created."""
        found = self.objects.get(path)
        given = document["metadata"].get("resourceVersion")
        return found is not None and found["metadata"]["resourceVersion"] != given

    def holder(self, name):
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}"
        return self.objects.get(path, {}).get("spec", {}).get("holderIdentity") or ""

    def history(self):
        """The stored history of the autoscaler, if any."""
        found = [each for path, each in self.objects.items() if "/scalingmemories/" in path]
        return next(iter(found[0]["histories"].values()), None) if found else None

    def _read(self, path):
        if path.rpartition("/")[2] in ("leases", "scalingmemories"):
            listed = [each for name, each in self.objects.items() if name.startswith(f"{path}/")]
            return json.dumps({"metadata": {}, "items": listed}).encode()
        if path not in self.objects:
            raise not_found(path)
        return json.dumps(self.objects[path]).encode()

    def _scale(self, method, body):
        if method == "PUT":
            self.replicas = json.loads(body)["spec"]["replicas"]
        metadata = {"uid": "target", "name": "web", "resourceVersion": "1"}
        status = {"replicas": self.replicas, "selector": "app=web"}
        return json.dumps(
            {
                "kind": "Scale",
                "metadata": metadata,
                "spec": {"replicas": self.replicas},
                "status": status,
            }
        ).encode()


class Request:
    """One that waits for what becomes of it."""

    def __init__(self, method, path, body):
        self.method = method
        self.path = path
        self.body = body
        self.outcome = asyncio.get_running_loop().create_future()


class Connection(Writer):
    """Of one replica. Requests that the model has no action for are answered at once."""

    def __init__(self, server):
        self.server = server
        self.held = {}
        self.late = {}
        self.is_cut = False

    async def send(
        self,
        method,
        path,
        *,
        params=None,
        accept=JSON,
        body=None,
        content_type=JSON,
        before_each=None,
    ):
        kind = self._kind(method, path, body)
        if kind == "scale":
            await self._outcome("decided", Request(method, path, body))
        await asyncio.sleep(0)
        if before_each is not None:
            before_each()
        if kind is not None:
            request = Request(method, path, body)
            outcome = await self._outcome(kind, request)
            if outcome == "late":
                self.late[kind] = request
            if outcome in ("late", "lost"):
                raise Unavailable("connection reset")
            answer = self.server.carry_out(method, path, body)
            if outcome == "unanswered":
                raise Unavailable("connection reset")
            return answer
        if self.is_cut:
            raise Unavailable("no route")
        if method != "GET" and "-shard-" in (body or b"").decode():
            # The model has two shards. Claims of the others conflict, as if another replica was always faster.
            raise conflict("not in the model")
        return self.server.carry_out(method, path, body)

    async def _outcome(self, kind, request):
        if self.is_cut:
            return "lost"
        self.held[kind] = request
        try:
            return await request.outcome
        finally:
            if self.held.get(kind) is request:
                del self.held[kind]

    def _kind(self, method, path, body):
        """What the model calls it; None if it is answered at once."""
        name = path.rpartition("/")[2]
        if method == "GET":
            return name if name in ("leases", "scalingmemories") else None
        if name == "scale":
            return name
        if "/scalingmemories" in path:
            return "memory"
        if "/leases" not in path or method == "PATCH":
            return None
        name = json.loads(body)["metadata"]["name"]
        holder = json.loads(body)["spec"].get("holderIdentity")
        word = "claim" if holder else "release"
        if "-member-" in name:
            return None if holder == self.server.holder(name) else f"{word} member {name[14:]}"
        if "-shard-" in name and int(name[13:]) in SHARDS:
            return f"{word} {int(name[13:])}"
        return None
