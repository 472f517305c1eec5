"""When each autoscaler is due for its next reconcile.

Upstream: the rate-limited queue of `podautoscaler` (rate_limiters.go, horizontal.go). Kept from it:
the first reconcile is at most one period after an autoscaler appears, a change of the object does not
bring the next one forward (a changed metric may, see `reaction`), one autoscaler is never reconciled twice at once, and an error is not
retried before the next period. Different: each autoscaler has its own moment within the period, by a
hash of its uid, and keeps it. However many are created together, or exist at startup, their
reconciles are spread evenly. An autoscaler may have its own period.
"""

import heapq
import math
import zlib
from collections.abc import Callable

# The shortest time between the beginnings of two reconciles if the second one was brought forward.
FORWARD_SECONDS_MIN = 1.0

# The shortest pause between two reconciles, as a share of the period: time for the watch to deliver
# what the first one wrote.
PAUSE_PERIODS_MIN = 0.05


class WorkQueue:
    """Keys (`namespace/name`) by due time. Holds no clock: `now_seconds` is any monotonic scale."""

    def __init__(self, period_seconds: float) -> None:
        """`period_seconds`: of the keys that do not have their own."""
        self._period_seconds = period_seconds
        self._own_period_seconds: dict[str, float] = {}
        self._due_seconds: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._processing: dict[str, float] = {}
        self._removed: set[str] = set()
        self._began_seconds: dict[str, float] = {}
        # The due times of keys that are due earlier for once, and keys to bring forward when they have been processed.
        self._regular_due_seconds: dict[str, float] = {}
        self._bring_forward_later: set[str] = set()

    def __len__(self) -> int:
        return len(self._due_seconds.keys() | self._processing.keys())

    def add(
        self,
        key: str,
        uid: str,
        now_seconds: float,
        *,
        period_seconds: float | None = None,
        within_seconds: float = math.inf,
    ) -> None:
        """Make a new key due within one period, at the moment that belongs to the object's `uid`.

        A key that is queued or processed keeps its due time, unless its period has changed.
        `period_seconds` is None for the period of the queue. A longer one begins with the first reconcile.
        `within_seconds`: the first reconcile is at most that much later. The next ones have the usual moment.
        """
        self._removed.discard(key)
        is_same = self._own_period_seconds.get(key) == period_seconds
        if is_same and (key in self._due_seconds or key in self._processing):
            return
        if period_seconds is None:
            self._own_period_seconds.pop(key, None)
        else:
            self._own_period_seconds[key] = period_seconds
        if key not in self._processing:
            period = min(self._period_of(key), self._period_seconds)
            phase_seconds = zlib.crc32(uid.encode()) / 2**32 * period
            wait_seconds = (phase_seconds - now_seconds) % period or period
            self._regular_due_seconds.pop(key, None)
            if within_seconds < period:
                self._regular_due_seconds[key] = now_seconds + wait_seconds
                wait_seconds *= within_seconds / period
            self._schedule(key, now_seconds + wait_seconds)

    def get(self, now_seconds: float) -> tuple[str, float] | None:
        """Start to process the key that has been due for longest: the key and its due time.

        None when nothing is due. The key is not handed out again before `done`.
        """
        self._drop_outdated()
        if not self._heap or self._heap[0][0] > now_seconds:
            return None
        due_seconds, key = heapq.heappop(self._heap)
        del self._due_seconds[key]
        self._processing[key] = due_seconds
        self._began_seconds[key] = now_seconds
        return key, due_seconds

    def bring_forward(self, key: str, now_seconds: float) -> bool:
        """Make a key due now, but at the earliest a second after its last reconcile began; later ones keep their times.

        False if it is due as early anyway, or is not known.
        """
        if key in self._processing:
            self._bring_forward_later.add(key)
            return True
        due_seconds = self._due_seconds.get(key)
        began_seconds = self._began_seconds.get(key, -math.inf)
        earliest_seconds = max(now_seconds, began_seconds + FORWARD_SECONDS_MIN)
        if due_seconds is None or due_seconds <= earliest_seconds:
            return False
        self._regular_due_seconds.setdefault(key, due_seconds)
        self._schedule(key, earliest_seconds)
        return True

    def done(self, key: str, now_seconds: float, *, requeue: bool) -> None:
        """The key has been processed. With `requeue` it is due again at the next multiple of the period.

        Due times that have passed meanwhile are skipped, and so is one that follows at once: that
        reconcile would read the autoscaler from before our own status write, and conflict.
        """
        period = self._period_of(key)
        due_seconds = self._processing.pop(key)
        if key in self._regular_due_seconds:
            due_seconds = self._regular_due_seconds.pop(key) - period
        again = key in self._bring_forward_later
        self._bring_forward_later.discard(key)
        if not requeue or key in self._removed:
            self._removed.discard(key)
            self._own_period_seconds.pop(key, None)
            self._began_seconds.pop(key, None)
            return
        earliest_seconds = now_seconds + PAUSE_PERIODS_MIN * period
        skipped = max(0, int((earliest_seconds - due_seconds) // period))
        self._schedule(key, due_seconds + (skipped + 1) * period)
        if again:
            self.bring_forward(key, earliest_seconds)

    @property
    def next_due_seconds(self) -> float | None:
        """The earliest due time; None when the queue is empty."""
        self._drop_outdated()
        return self._heap[0][0] if self._heap else None

    def remove(self, includes: Callable[[str], bool]) -> None:
        """Remove these keys; one that is being processed is not due again. Another replica reconciles them."""
        for key in [key for key in self._due_seconds if includes(key)]:
            del self._due_seconds[key]
            self._own_period_seconds.pop(key, None)
            self._began_seconds.pop(key, None)
            self._regular_due_seconds.pop(key, None)
        self._removed.update(key for key in self._processing if includes(key))

    def _period_of(self, key: str) -> float:
        return self._own_period_seconds.get(key, self._period_seconds)

    def _schedule(self, key: str, due_seconds: float) -> None:
        self._due_seconds[key] = due_seconds
        heapq.heappush(self._heap, (due_seconds, key))

    def _drop_outdated(self) -> None:
        while self._heap and self._due_seconds.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
