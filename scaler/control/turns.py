"""Whose turn it is while several namespaces have autoscalers that are due: the one that has had least of the time.

Start-time fair queueing. While there is time for all, each has its turn when it is due. What a namespace has had while no
other waited does not count, and neither does what it left to others.
"""

import heapq
from collections.abc import Iterator

# Of each turn, beside its work, which is known only afterwards: meanwhile others have theirs.
TURN_SECONDS = 0.0001

Due = tuple[float, str]
"""A due time, and a key (`namespace/name`)."""


class _Namespace:
    """Its autoscalers that are due, the earliest first, and what it has had, by the same scale for all."""

    __slots__ = ("due", "had_seconds")

    def __init__(self, had_seconds: float) -> None:
        self.due: list[Due] = []
        self.had_seconds = had_seconds


class Turns:
    """Knows the namespaces that have something due, or have had more than another one that has."""

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace] = {}
        # Each once, with what it has had, or less. The first one is next.
        self._order: list[tuple[float, str]] = []
        # What the one had whose turn it was last. A namespace that comes later begins there.
        self._least_seconds = 0.0

    def __len__(self) -> int:
        return len(self._namespaces)

    @property
    def waiting(self) -> Iterator[Due]:
        """All that were added and had no turn."""
        for each in self._namespaces.values():
            yield from each.due

    def add(self, due: Due) -> None:
        """It is due: its turn comes."""
        heapq.heappush(self._of(due[1]).due, due)

    def worked(self, key: str, seconds: float) -> None:
        """The work for this key has occupied the event loop."""
        self._of(key).had_seconds += seconds

    def next(self) -> Due | None:
        """The one whose turn it is, once."""
        while self._order:
            had_seconds, name = self._order[0]
            namespace = self._namespaces[name]
            if had_seconds < namespace.had_seconds:
                heapq.heapreplace(self._order, (namespace.had_seconds, name))
                continue
            self._least_seconds = had_seconds
            if namespace.due:
                namespace.had_seconds += TURN_SECONDS
                return heapq.heappop(namespace.due)
            heapq.heappop(self._order)
            del self._namespaces[name]
        return None

    def clear(self) -> None:
        """Nothing of what was added is due."""
        for each in self._namespaces.values():
            each.due.clear()

    def _of(self, key: str) -> _Namespace:
        name = key.partition("/")[0]
        found = self._namespaces.get(name)
        if found is None:
            found = self._namespaces[name] = _Namespace(self._least_seconds)
            heapq.heappush(self._order, (self._least_seconds, name))
        return found
