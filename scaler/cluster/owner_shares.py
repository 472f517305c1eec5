"""Pure: which resources are watched because pods have owners of them, and for which namespaces.

A user can name any kind as the owner of a pod, and a watch of a kind takes memory and a connection: there is a limit. No namespace
can keep the others from what is below it.
"""

from collections import Counter
from typing import Final

from scaler.api.sync_period import SYNC_PERIOD_SECONDS_MAX

RESOURCES_MAX: Final = 20
NAMESPACE_RESOURCES_MAX: Final = 4
"""Of those that the autoscalers of one namespace were the first to need."""
UNUSED_SECONDS: Final = 2.0 * SYNC_PERIOD_SECONDS_MAX
"""What was not needed for so long, no autoscaler needs: each is reconciled once per period."""

ResourceName = tuple[str, str]
"""Group and name of a resource."""


class OwnerShares:
    """Names of resources, each with the namespaces that need it. Times are those of one monotonic clock."""

    def __init__(self) -> None:
        self._used_at_seconds: dict[ResourceName, dict[str, float]] = {}
        """By resource, and namespace in the order in which they needed it first: the resource counts for the first one."""

    def __contains__(self, resource: ResourceName) -> bool:
        return resource in self._used_at_seconds

    def use(self, resource: ResourceName, namespace: str, now_seconds: float) -> bool:
        """A namespace needs it: whether it may be watched. Another one may have to be given up for it."""
        users = self._used_at_seconds.get(resource)
        if users is None:
            if not self._has_space(namespace):
                return False
            users = self._used_at_seconds[resource] = {}
        users[namespace] = now_seconds
        return True

    def release(self, now_seconds: float) -> None:
        """Give up what is not needed any more."""
        for resource, users in list(self._used_at_seconds.items()):
            for namespace, at_seconds in list(users.items()):
                if now_seconds - at_seconds > UNUSED_SECONDS:
                    del users[namespace]
            if not users:
                del self._used_at_seconds[resource]

    def _has_space(self, namespace: str) -> bool:
        counts = Counter(next(iter(users)) for users in self._used_at_seconds.values())
        if counts[namespace] >= NAMESPACE_RESOURCES_MAX:
            return False
        if len(self._used_at_seconds) < RESOURCES_MAX:
            return True
        most = max(counts.values())
        # Otherwise two namespaces would take it from each other without end.
        if most < counts[namespace] + 2:
            return False
        of_largest = [
            resource
            for resource, users in self._used_at_seconds.items()
            if counts[next(iter(users))] == most
        ]
        del self._used_at_seconds[min(of_largest, key=self._given_up_first)]
        return True

    def _given_up_first(self, resource: ResourceName) -> tuple[int, float]:
        users = self._used_at_seconds[resource]
        return len(users), max(users.values())
