"""The requests for ScalingMemory objects: LIST, and a POST, PUT or DELETE of one."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from scaler.cluster.memories.scaling_memory import (
    PLURAL,
    StoredObject,
    metadata_of,
)
from wire.api.loadline import API_VERSION
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.list_and_watch import pages
from wire.kube.requests import Writer

PAGE_SIZE = 50
# A request that hangs is tried again while the first reconciles still wait.
PAGE_SECONDS = 5.0


class MemoryObjects:
    """The ScalingMemory objects of one namespace of the API server."""

    def __init__(self, client: Writer, *, namespace: str, may_write: Callable[[str], bool]) -> None:
        """`may_write`: whether no other replica writes the memories of a watched namespace."""
        self._client = client
        self._folder = f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}"
        self._namespace = namespace
        self._may_write = may_write

    def new(self, name: str) -> ObjectMeta:
        """The metadata of an object that does not exist yet."""
        return ObjectMeta(name=name, namespace=self._namespace)

    async def list_all(self) -> list[msgspec.Raw]:
        """All objects. Raises `StatusError`, `Unavailable` or `msgspec.DecodeError`."""
        found: list[msgspec.Raw] = []
        async for page in pages(self._folder, self._page, {}, PAGE_SIZE):
            found += page.items
        return found

    async def _page(self, params: Mapping[str, str]) -> bytes:
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                return await self._client.get(self._folder, params)
        except TimeoutError as error:
            raise Unavailable(f"{self._folder}: timed out waiting for a response") from error

    async def write(self, stored: StoredObject) -> None:
        """Create, replace or, without histories, delete it.

        Only this replica writes, so after a conflict its own content is the newest. Raises as `list_all` does.
        """
        try:
            stored.metadata = await self._written(stored)
        except StatusError as error:
            if error.code == 409:
                stored.metadata = await self._current(stored.metadata.name)
            elif error.code == 404 and stored.metadata.resource_version:
                # Deleted by a user.
                stored.metadata = self.new(stored.metadata.name)
            else:
                raise
            stored.metadata = await self._written(stored)

    async def _current(self, name: str) -> ObjectMeta:
        try:
            return metadata_of(await self._client.get(f"{self._folder}/{name}"))
        except StatusError as error:
            if error.code != 404:
                raise
            return self.new(name)

    async def _written(self, stored: StoredObject) -> ObjectMeta:
        if not self._may_write(stored.watched_namespace):
            raise Unavailable(f"another replica may reconcile {stored.watched_namespace}")
        name, version = stored.metadata.name, stored.metadata.resource_version
        path = f"{self._folder}/{name}"
        if not stored.is_empty:
            body = stored.document()
            if version:
                return metadata_of(await self._client.replace(path, body))
            return metadata_of(await self._client.create(self._folder, body))
        if version:
            try:
                await self._client.delete(path, resource_version=version)
            except StatusError as error:
                if error.code != 403:
                    raise
                # The Role of an older chart does not have the verb.
                return metadata_of(await self._client.replace(path, stored.document()))
        return self.new(name)
