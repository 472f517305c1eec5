"""Which autoscalers are decided from which requests, so that a changed response finds them."""

from collections.abc import Collection, Hashable


class Followers:
    """Keys (`namespace/name`) of autoscalers by request."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, set[str]] = {}
        self._requests: dict[str, tuple[Hashable, ...]] = {}

    def follow(self, key: str, requests: tuple[Hashable, ...]) -> None:
        """The autoscaler is decided from these requests, and from no others any more."""
        if self._requests.get(key) == requests:
            return
        self.forget(key)
        self._requests[key] = requests
        for each in requests:
            self._keys.setdefault(each, set()).add(key)

    def forget(self, key: str) -> None:
        """The autoscaler does not exist any more."""
        # Several metrics of an autoscaler may have the same request.
        for each in set(self._requests.pop(key, ())):
            keys = self._keys[each]
            keys.discard(key)
            if not keys:
                del self._keys[each]

    def of(self, request: Hashable) -> Collection[str]:
        """The autoscalers that are decided from it."""
        return self._keys.get(request, ())
