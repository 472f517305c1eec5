"""GET at the metrics APIs, where equal questions are asked once.

Many autoscalers ask the same (one Object metric, one queue). While a question is in flight later
askers wait for its answer, and an answer serves for a moment after it came; an error serves only
those who waited for it. Everything that was asked is forgotten as soon as it is too old to serve.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from scaler.ports import Reader
from scaler.telemetry import Telemetry


class SharedQuestions:
    """A `Reader` that asks another one, but not twice at once."""

    def __init__(
        self,
        kube: Reader,
        telemetry: Telemetry,
        *,
        fresh_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fresh_seconds`: how old an answer may be; 0 shares only while in flight."""
        self._kube = kube
        self._telemetry = telemetry
        self._fresh_seconds = fresh_seconds
        self._monotonic = monotonic
        self._asked: dict[str, asyncio.Task[bytes]] = {}
        # In the order of their coming, which is the order of their growing too old.
        self._answered_at_seconds: dict[str, float] = {}

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        """The answer's body. Raises `StatusError` and `Unavailable`."""
        self._forget_old()
        question = f"{path}?{urlencode(sorted((params or {}).items()))}"
        task = self._asked.get(question)
        self._count(path, shared=task is not None)
        if task is None:
            task = asyncio.create_task(self._kube.get(path, params))
            self._asked[question] = task
            task.add_done_callback(lambda done: self._keep(question, done))
        # shield: one asker's cancellation must not fail the others.
        return await asyncio.shield(task)

    def _keep(self, question: str, done: asyncio.Task[bytes]) -> None:
        if done.cancelled() or done.exception() is not None or self._fresh_seconds <= 0:
            self._asked.pop(question, None)
        else:
            self._answered_at_seconds[question] = self._monotonic()

    def _forget_old(self) -> None:
        oldest_seconds = self._monotonic() - self._fresh_seconds
        old = []
        for question, at_seconds in self._answered_at_seconds.items():
            if at_seconds > oldest_seconds:
                break
            old.append(question)
        for question in old:
            del self._answered_at_seconds[question], self._asked[question]

    def _count(self, path: str, *, shared: bool) -> None:
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        self._telemetry.metrics_api_requests_total.labels(
            group, "shared" if shared else "sent"
        ).inc()
