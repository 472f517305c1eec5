"""Which errors and events are news: what fails the same way at each reconcile is reported once.

5,000 autoscalers whose metrics API is down would otherwise log 333 lines a second and flood the events.
"""

import math
from collections.abc import Hashable

# The API server deletes an event after an hour; a failure that lasts stays visible.
REPEAT_SECONDS = 1800.0


class Reported:
    """What one autoscaler reported in its last reconcile. Time is an argument."""

    __slots__ = ("_current", "_last")

    def __init__(self) -> None:
        self._last: dict[Hashable, float] = {}
        self._current: dict[Hashable, float] = {}

    def note(self, report: Hashable, now_seconds: float) -> bool:
        """This reconcile reports this. True if it is news: the last one did not, or half an hour has passed since it was."""
        was_news_at_seconds = self._last.get(report, -math.inf)
        is_news = now_seconds - was_news_at_seconds >= REPEAT_SECONDS
        self._current[report] = now_seconds if is_news else was_news_at_seconds
        return is_news

    def finish(self) -> bool:
        """End the reconcile. True when the last one reported something and this one nothing."""
        before, self._last, self._current = self._last, self._current, {}
        return bool(before) and not self._last

    def cancel(self) -> None:
        """The reconcile was cancelled, so what it did not report may last."""
        self._current.clear()
