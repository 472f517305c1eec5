"""An API server with one Lease, which refuses the second of two concurrent updates, and a connection to it."""

from collections.abc import Mapping

import msgspec

from scaler.cluster.lease import Lease
from tests.fakes import json_patch
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import JSON, JSON_PATCH


class Leases:
    """Keeps one Lease with a resourceVersion."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 0

    def store(self, body: bytes) -> bytes:
        self.version += 1
        lease = msgspec.json.decode(body, type=Lease)
        uid = lease.metadata.uid or f"lease-{self.version}"
        metadata = msgspec.structs.replace(
            lease.metadata, resource_version=str(self.version), uid=uid
        )
        self.lease = msgspec.structs.replace(lease, metadata=metadata)
        return msgspec.json.encode(self.lease)


class Client:
    """One candidate's connection to the API server; `is_down` cuts it."""

    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.is_down = False

    def reach(self) -> None:
        if self.is_down:
            raise Unavailable("no route")

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.reach()
        if self.leases.lease is None:
            raise StatusError("none", code=404, reason="NotFound")
        return msgspec.json.encode(self.leases.lease)

    async def create(self, path: str, body: bytes) -> bytes:
        self.reach()
        if self.leases.lease is not None:
            raise StatusError("exists", code=409, reason="AlreadyExists")
        return self.leases.store(body)

    async def replace(self, path: str, body: bytes) -> bytes:
        self.reach()
        sent = msgspec.json.decode(body, type=Lease)
        # Also if it was deleted, because a sent uid must be that of the existing object.
        if self.leases.lease is None or sent.metadata.resource_version != str(self.leases.version):
            raise StatusError("changed", code=409, reason="Conflict")
        return self.leases.store(body)

    async def patch(self, path: str, body: bytes, *, content_type: str) -> bytes:
        self.reach()
        assert content_type == JSON_PATCH
        if self.leases.lease is None:
            raise StatusError("none", code=404, reason="NotFound")
        document = msgspec.json.decode(msgspec.json.encode(self.leases.lease))
        return self.leases.store(msgspec.json.encode(json_patch.patched(document, body)))
