"""Whose turn it is while several namespaces have autoscalers that are due: the one whose reconciles have computed least.

Start-time fair queueing. While there is time for all, each has its turn when it is due. What a namespace has had while no
other waited does not count, and neither does what it left to others. After a long reconcile, no namespace waits for longer than a
period because of it, however many there are.
"""

import heapq

# Counted for each turn when it begins, because its work is known only at the end: so the others are next.
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

    def __init__(self, period_seconds: float) -> None:
        self._period_seconds = period_seconds
        self._namespaces: dict[str, _Namespace] = {}
        # Each once, with what it has had, or less. The first one is next.
        self._order: list[tuple[float, str]] = []
        # What the one had whose turn it was last. A namespace that comes later begins there.
        self._least_seconds = 0.0

    def __len__(self) -> int:
        return len(self._namespaces)

    def add(self, due: Due) -> None:
        """It is due: its turn comes."""
        heapq.heappush(self._of(due[1]).due, due)

    def worked(self, key: str, seconds: float) -> None:
        """The work for this key has occupied the event loop."""
        found = self._of(key)
        # While it waits, each of the others has as much as it has had before them.
        most_seconds = self._least_seconds + self._period_seconds / len(self._namespaces)
        found.had_seconds = max(found.had_seconds, min(found.had_seconds + seconds, most_seconds))

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
