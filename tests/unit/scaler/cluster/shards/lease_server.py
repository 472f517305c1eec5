"""The Leases of an API server, with optimistic locking and a consistent LIST, and one connection to it per replica."""

import asyncio
import json

from tests.fakes import json_patch, virtual_time
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import JSON, JSON_PATCH, MERGE_PATCH


class LeaseServer:
    """Keeps Leases by name."""

    def __init__(self):
        self.leases = {}
        self.version = 0
        self.writes = []

    def store(self, document):
        self.version += 1
        document.setdefault("kind", "Lease")
        metadata = document["metadata"]
        metadata["resourceVersion"] = str(self.version)
        metadata.setdefault("uid", f"uid-{self.version}")
        self.leases[metadata["name"]] = document
        return json.dumps(document).encode()

    def holder(self, name):
        return self.leases.get(name, {}).get("spec", {}).get("holderIdentity") or ""

    def named(self, part):
        return {name: self.holder(name) for name in self.leases if part in name}


class Connection:
    """Of one replica. `is_cut`: no request arrives; `loses_responses`: it arrives, and the response does not.

    `refused`: the name of a Lease that must not be written, if any; `changed`: of one that another client is always faster
    to write. `listed_at_seconds` has the times of the LISTs. `hanging`: how many of the next requests never get a response. `loses_responses_to`:
    the part of a name of Leases whose writes arrive, and their responses do not. `sent` has the methods and names of its requests.
    `other_json`: with what a gateway responds in place of the API server, after the request has arrived.
    """

    def __init__(self, server, seconds=0.0):
        self.server = server
        self.seconds = seconds
        self.is_cut = False
        self.loses_responses = False
        self.refused = ""
        self.changed = ""
        self.hanging = 0
        self.loses_responses_to = ""
        self.listed_at_seconds = []
        self.sent = []
        self.other_json = None

    async def get(self, path, params=None, *, accept=JSON):
        await self._travel(f"GET {path.rpartition('/')[2]}")
        if path.endswith("/leases"):
            self.listed_at_seconds.append(asyncio.get_running_loop().time())
            answer = json.dumps({"items": list(self.server.leases.values())}).encode()
        else:
            found = self.server.leases.get(path.rpartition("/")[2])
            if found is None:
                raise StatusError("not found", code=404, reason="NotFound")
            answer = json.dumps(found).encode()
        return await self._answered(answer)

    async def create(self, path, body, params=None):
        await self._travel(f"POST {path.rpartition('/')[2]}")
        document = json.loads(body)
        self._refuse(document["metadata"]["name"])
        if document["metadata"]["name"] in self.server.leases:
            raise StatusError("exists", code=409, reason="AlreadyExists")
        return await self._written(document)

    async def replace(self, path, body, params=None):
        await self._travel(f"PUT {path.rpartition('/')[2]}")
        document = json.loads(body)
        self._refuse(document["metadata"]["name"])
        found = self.server.leases.get(document["metadata"]["name"])
        if found is None:
            raise StatusError("not found", code=404, reason="NotFound")
        if found["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            raise StatusError("changed", code=409, reason="Conflict")
        return await self._written(document)

    async def patch(self, path, body, *, content_type=MERGE_PATCH, params=None):
        assert content_type == JSON_PATCH
        name = path.rpartition("/")[2]
        await self._travel(f"PATCH {name}")
        self._refuse(name)
        found = self.server.leases.get(name)
        if found is None:
            raise StatusError("not found", code=404, reason="NotFound")
        return await self._written(json_patch.patched(found, body))

    def _refuse(self, name):
        if name == self.refused:
            raise StatusError("denied by a webhook", code=403, reason="Forbidden")
        if name == self.changed:
            raise StatusError("changed", code=409, reason="Conflict")

    async def _written(self, document):
        answer = self.server.store(document)
        self.server.writes.append(document["metadata"]["name"])
        if self.loses_responses_to and self.loses_responses_to in document["metadata"]["name"]:
            raise Unavailable("connection reset")
        return await self._answered(answer)

    async def _travel(self, sent):
        self.sent.append(sent)
        if self.hanging:
            self.hanging -= 1
            await asyncio.Event().wait()
        await virtual_time.passes(self.seconds)
        if self.is_cut:
            raise Unavailable("no route")

    async def _answered(self, answer):
        if self.loses_responses or self.is_cut:
            raise Unavailable("connection reset")
        await virtual_time.passes(self.seconds)
        return answer if self.other_json is None else self.other_json
