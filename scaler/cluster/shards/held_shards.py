"""The shards whose objects a replica keeps in its caches: those that it reconciles."""

import asyncio

from scaler.cluster.shards.assignment import shard_of


class HeldShards:
    """A part of the namespaces, for `wire.kube.cache`."""

    def __init__(self) -> None:
        self._shards: frozenset[int] = frozenset()
        self._listed: frozenset[int] = frozenset()
        self._grown = asyncio.Event()

    def __contains__(self, namespace: str) -> bool:
        return shard_of(namespace) in self._shards

    def are_listed(self, namespace: str) -> bool:
        """Whether the caches have the objects of the namespace, not only what has changed since it belongs to the part."""
        return shard_of(namespace) in self._listed

    def listed_of(self, shards: frozenset[int]) -> frozenset[int]:
        """Those of these shards of which the caches have the objects."""
        return shards & self._listed

    def change(self, shards: frozenset[int]) -> None:
        """Hold these, and no others."""
        self._shards = shards
        self._listed &= shards
        self._grown.set()

    async def unlisted(self) -> frozenset[int]:
        """Wait until some of what is held is not listed yet; all that is held then."""
        while self._listed == self._shards:
            self._grown.clear()
            await self._grown.wait()
        return self._shards

    def listed(self, shards: frozenset[int]) -> frozenset[int]:
        """The caches have been listed since all of these were held. Returns those that were not listed before."""
        found = (shards & self._shards) - self._listed
        self._listed |= found
        return found
