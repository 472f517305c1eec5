"""Which autoscalers are decided from which requests, so that a changed response finds them."""

from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

Request = TypeVar("Request", bound=Hashable)


class Followers(Generic[Request]):
    """Keys (`namespace/name`) of autoscalers by request."""

    def __init__(self) -> None:
        self._keys: dict[Request, set[str]] = {}
        self._requests: dict[str, tuple[Request, ...]] = {}
        self.on_unfollowed: Callable[[Request], None] = lambda _: None
        """Called with each request from which no autoscaler is decided any more."""

    def follow(self, key: str, requests: tuple[Request, ...]) -> None:
        """The autoscaler is decided from these requests, and from no others any more."""
        before = self._requests.get(key, ())
        if before == requests:
            return
        self._requests[key] = requests
        for each in requests:
            self._keys.setdefault(each, set()).add(key)
        self._leave(key, set(before).difference(requests))

    def forget(self, key: str) -> None:
        """The autoscaler is decided from none, or does not exist any more."""
        # Several metrics of an autoscaler may have the same request.
        self._leave(key, set(self._requests.pop(key, ())))

    def _leave(self, key: str, requests: set[Request]) -> None:
        for each in requests:
            keys = self._keys[each]
            keys.discard(key)
            if not keys:
                del self._keys[each]
                self.on_unfollowed(each)

    def of(self, request: Request) -> Collection[str]:
        """The autoscalers that are decided from it."""
        return self._keys.get(request, ())
