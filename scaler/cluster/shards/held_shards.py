"""The shards whose objects a replica keeps in its caches: those that it reconciles."""

from scaler.cluster.shards.assignment import shard_of


class HeldShards:
    """A part of the namespaces, for `wire.kube.cache`."""

    def __init__(self) -> None:
        self._shards: frozenset[int] = frozenset()
        self._listed: frozenset[int] = frozenset()

    def __contains__(self, namespace: str) -> bool:
        return shard_of(namespace) in self._shards

    def __bool__(self) -> bool:
        return bool(self._shards)

    def are_listed(self, namespace: str) -> bool:
        """Whether the caches have the objects of the namespace, not only what has changed since it belongs to the part."""
        return shard_of(namespace) in self._listed

    def change(self, shards: frozenset[int]) -> bool:
        """Hold these, and no others. Returns whether the caches must list again."""
        self._shards = shards
        self._listed &= shards
        return self._listed != shards

    def listed(self) -> None:
        """The caches have listed all that is held."""
        self._listed = self._shards
