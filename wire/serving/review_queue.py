"""Reviews of tokens and rights of clients that are not known to kube-apiserver: a few at a time.

Garbage can be sent faster than it can be reviewed. Such reviews have places of their own, so that they do not take the
connections that the reviews of accepted clients need, and what waits for one is bounded: in all, and for each address.
"""

from asyncio import Semaphore
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from wire.api.status import StatusDetails, failure
from wire.serving.refusal_reasons import Reason, Refused

V = TypeVar("V")

AT_ONCE: Final = 8
WAITING_MAX: Final = 128
ADDRESS_MAX: Final = 32
RETRY_AFTER_SECONDS: Final = 1


class ReviewQueue:
    """Makes reviews in the order in which they were requested."""

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        waiting_max: int = WAITING_MAX,
        address_max: int = ADDRESS_MAX,
        refused: Refused = lambda *_: None,
    ) -> None:
        """`waiting_max` and `address_max` count the reviews that are being made, too. `refused` is called for each request that is refused."""
        self._places = Semaphore(at_once)
        self._waiting_max = waiting_max
        self._address_max = address_max
        self._refused = refused
        self._waiting: Counter[str] = Counter()

    async def make(self, address: str, review: Callable[[], Awaitable[V]]) -> V:
        """The result of `review`, requested by a client at `address`. Raises what it raises, and `StatusError` 429 if too many wait."""
        if (
            self._waiting.total() >= self._waiting_max
            or self._waiting[address] >= self._address_max
        ):
            self._refused(Reason.REVIEWS, address)
            raise failure(
                429,
                "too many requests from unauthenticated clients are waiting for a review by kube-apiserver: try again in a second",
                StatusDetails(retry_after_seconds=RETRY_AFTER_SECONDS),
            )
        self._waiting[address] += 1
        try:
            async with self._places:
                return await review()
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
