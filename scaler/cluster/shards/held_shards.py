"""The shards whose objects a replica keeps in its caches: those that it reconciles."""

import asyncio

from scaler.cluster.shards.assignment import shard_of


class HeldShards:
    """A part of the namespaces, for `wire.kube.cache`."""

    def __init__(self) -> None:
        self._changes = 0
        self._held_since: dict[int, int] = {}
        """By shard: the number of the change from which on it has been held without a gap."""
        self._listed: frozenset[int] = frozenset()
        self._changed = asyncio.Event()

    def __contains__(self, namespace: str) -> bool:
        return shard_of(namespace) in self._held_since

    def are_listed(self, namespace: str) -> bool:
        """Whether the caches have the objects of the namespace, not only what has changed since it belongs to the part."""
        return shard_of(namespace) in self._listed

    def listed_of(self, shards: frozenset[int]) -> frozenset[int]:
        """Those of these shards of which the caches have the objects."""
        return shards & self._listed

    def change(self, shards: frozenset[int]) -> None:
        """Hold these, and no others."""
        self._changes += 1
        self._held_since = {each: self._held_since.get(each, self._changes) for each in shards}
        self._listed &= shards
        self._changed.set()

    async def unlisted(self) -> int:
        """Wait until something is held that is not listed; the number of the last change, for `listed`."""
        while self._listed == self._held_since.keys():
            self._changed.clear()
            await self._changed.wait()
        return self._changes

    def listed(self, changes: int) -> frozenset[int]:
        """The caches have been listed since that change. Returns the shards that are complete by this."""
        held = (each for each, since in self._held_since.items() if since <= changes)
        found = frozenset(held) - self._listed
        self._listed |= found
        return found
