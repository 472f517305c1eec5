"""Questions to the API server whose answers hold for a while: TokenReview, SubjectAccessReview."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from cachetools import TLRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Bounds the memory that strangers can fill; upstream's token cache holds as many.
ANSWERS_MAX = 4096


class CachedLookup(Generic[K, V]):
    """Answers by question; who asks while the question is under way waits for that answer.

    A failure is nobody's answer: it is raised to those who wait and asked anew by the next.
    """

    def __init__(
        self,
        *,
        holds_seconds: Callable[[V], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`holds_seconds` tells for each answer how long it is good; 0: only for those who wait for it."""
        self._answers: TLRUCache[K, V] = TLRUCache(
            ANSWERS_MAX, ttu=lambda _, answer, now: now + holds_seconds(answer), timer=monotonic
        )
        self._under_way: dict[K, asyncio.Task[V]] = {}

    async def get(self, question: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer, from memory or by asking."""
        try:
            return self._answers[question]
        except KeyError:
            pass
        task = self._under_way.get(question)
        if task is None:
            task = self._under_way[question] = asyncio.create_task(self._asked(question, ask))
            task.add_done_callback(lambda done: self._finished(question, done))
        # One client that goes away must not fail the others that wait.
        return await asyncio.shield(task)

    async def _asked(self, question: K, ask: Callable[[], Awaitable[V]]) -> V:
        answer = await ask()
        self._answers[question] = answer
        return answer

    def _finished(self, question: K, task: asyncio.Task[V]) -> None:
        self._under_way.pop(question, None)
        if not task.cancelled():
            task.exception()  # seen, even when everybody who waited has gone
