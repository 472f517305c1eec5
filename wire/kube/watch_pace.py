"""How soon a watch follows the last one, so that a server which ends each of them is not sent hundreds of requests in a second."""

import math
from collections.abc import Callable

from wire.process.backoff import Backoff

# client-go spreads the ends of its watches over five to ten minutes.
WATCH_SECONDS = 300.0
# Between the beginnings of two watches. One that ends sooner without an event has failed.
WATCH_SECONDS_MIN = 1.0
# As long as the longest pause: a watch that fails later than this does not lead to more LISTs than one that fails at once.
WATCH_WORKS_SECONDS = 30.0


class WatchPace:
    """The pauses before the watches of one cache."""

    def __init__(self, backoff: Backoff, monotonic: Callable[[], float]) -> None:
        """`backoff`: the pauses after failures, which grow until a watch has lasted."""
        self._backoff = backoff
        self._monotonic = monotonic
        self._began_at_seconds, self._accepted_at_seconds = -math.inf, math.inf
        self._lasted_seconds = 0.0
        self._has_worked = False

    def begin(self) -> None:
        """A watch is requested."""
        self._began_at_seconds, self._accepted_at_seconds = self._monotonic(), math.inf

    def accept(self) -> None:
        """The server has accepted it."""
        self._accepted_at_seconds = self._monotonic()

    def end(self) -> None:
        """It has ended, also by an error. That it had events does not count: it may fail after each of them."""
        self._lasted_seconds = self._monotonic() - self._accepted_at_seconds
        if self._lasted_seconds >= WATCH_WORKS_SECONDS:
            self._has_worked = True
            self._backoff.reset()

    def expired(self) -> None:
        """The server responds that it cannot continue from there. The LIST does not wait for as long as it was down before.

        Only if a watch has worked since the last time: else LISTs would be frequent where each watch expires soon.
        """
        if self._has_worked:
            self._has_worked = False
            self._backoff.reset()

    @property
    def duration_seconds(self) -> float:
        """Since the watch was requested."""
        return self._monotonic() - self._began_at_seconds

    def pause_seconds(self, *, lists_first: bool) -> float:
        """After a watch that has not failed. `lists_first`: a LIST comes before the next one."""
        rest_seconds = WATCH_SECONDS_MIN - self.duration_seconds
        if rest_seconds > 0 and lists_first:
            return self._backoff.next_seconds()
        return max(0.0, rest_seconds)

    def pause_after_failure_seconds(self, *, lists_first: bool) -> float:
        """After a LIST or a watch that has failed. A watch that continues where its connection broke costs much less than a LIST.

        Not longer than a watch has lasted that did not end at once: the copy is not kept up to date meanwhile.
        """
        lasted_seconds, self._lasted_seconds = self._lasted_seconds, 0.0
        if lasted_seconds < WATCH_SECONDS_MIN:
            return self._backoff.next_seconds()
        if not lists_first:
            self._backoff.reset()
        return min(self._backoff.next_seconds(), lasted_seconds)
