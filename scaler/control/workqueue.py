"""When each autoscaler is due for its next reconcile.

Upstream: the rate-limited queue of `podautoscaler` (rate_limiters.go, horizontal.go). Kept from it:
the first reconcile is at most one period after an autoscaler appears, a reconcile at once (of a new object, or a changed
spec) does not move the next ones (nor does a changed metric, see `reaction`), one autoscaler is never reconciled twice at once,
and an error is not retried before the next period. Different: each autoscaler has its own moment within the period, by a
hash of its uid, and keeps it. However many are created together, or exist at startup, their
reconciles are spread evenly. An autoscaler may have its own period; if that is longer, errors are retried as without it.
And one whose reconciles take much of the time of the event loop leaves out some of them, so that it does not delay the others.
Neither do many of one namespace delay those of others: while there is not enough time, namespaces take turns.
"""

import heapq
import math
import zlib
from collections.abc import Callable

from scaler.control.turns import Turns

# The shortest time between the beginnings of two reconciles if the second one was brought forward.
FORWARD_SECONDS_MIN = 1.0

# The shortest pause between two reconciles, as a share of the period: time for the watch to deliver
# what the first one wrote.
PAUSE_PERIODS_MIN = 0.05

# How much of the time the work for one autoscaler may take, on average: while it is done, all others wait.
# A namespace may take what others leave, or an equal share: see `scaler.control.turns`.
WORK_SHARE_MAX = 0.05

# Due times in the heap for each key.
OUTDATED_RATIO_MAX = 4


class _Entry:
    """One key. It is due, or processed, or both are over; then the queue has no entry."""

    __slots__ = (
        "began_seconds",
        "due_seconds",
        "forward_seconds",
        "is_brought_forward",
        "is_due_again",
        "is_processed",
        "is_removed",
        "own_period_seconds",
        "regular_due_seconds",
        "rested_seconds",
        "work_seconds",
    )

    def __init__(self) -> None:
        self.due_seconds = 0.0
        # The due time in the order of reconciles, while the key is due earlier for once.
        self.regular_due_seconds: float | None = None
        self.own_period_seconds: float | None = None
        self.began_seconds = -math.inf
        # The work of one reconcile, as an average in which the last ones count most: one of them may have been slow by chance.
        self.work_seconds = 0.0
        # When it may be due again after this work.
        self.rested_seconds = -math.inf
        self.is_processed = False
        self.is_removed = False
        # It is due earlier for once, because of a changed metric, and nothing else makes it due.
        self.is_brought_forward = False
        # When it is to be brought forward to, once it has been processed.
        self.forward_seconds = math.inf
        # To be processed again at once.
        self.is_due_again = False


class WorkQueue:
    """Keys (`namespace/name`) by due time. Holds no clock: `now_seconds` is any monotonic scale."""

    def __init__(self, period_seconds: float) -> None:
        """`period_seconds`: of the keys that do not have their own."""
        self._period_seconds = period_seconds
        self._entries: dict[str, _Entry] = {}
        # Due times that have changed since stay in it until they are reached.
        self._heap: list[tuple[float, str]] = []
        # Those that have been reached.
        self._turns = Turns(period_seconds)

    def __len__(self) -> int:
        return len(self._entries)

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
        entry = self._entries.get(key)
        is_new = entry is None
        if entry is None:
            entry = self._entries[key] = _Entry()
        entry.is_removed = False
        if not is_new and entry.own_period_seconds == period_seconds:
            return
        entry.own_period_seconds = period_seconds
        if entry.is_processed:
            if entry.regular_due_seconds is not None:
                soonest_seconds = entry.began_seconds + self._period_of(entry)
                entry.regular_due_seconds = min(entry.regular_due_seconds, soonest_seconds)
            return
        period = min(self._period_of(entry), self._period_seconds)
        now_seconds = max(now_seconds, entry.rested_seconds)
        phase_seconds = zlib.crc32(uid.encode()) / 2**32 * period
        wait_seconds = (phase_seconds - now_seconds) % period or period
        entry.regular_due_seconds = None
        entry.is_brought_forward = False
        if within_seconds < period:
            entry.regular_due_seconds = now_seconds + wait_seconds
            wait_seconds *= within_seconds / period
        self._set_due(key, entry, now_seconds + wait_seconds)

    def get(self, now_seconds: float) -> tuple[str, float] | None:
        """Start to process the key that has been due for longest, of the namespace whose turn it is: the key and its due time.

        None when nothing is due. The key is not handed out again before `done`.
        """
        while self._heap and self._heap[0][0] <= now_seconds:
            due = heapq.heappop(self._heap)
            if self._is_due(*due):
                self._turns.add(due)
        while (found := self._turns.next()) is not None and not self._is_due(*found):
            pass
        if found is None:
            return None
        due_seconds, key = found
        entry = self._entries[key]
        entry.is_processed = True
        entry.began_seconds = now_seconds
        if entry.regular_due_seconds is not None:
            pause_seconds = PAUSE_PERIODS_MIN * self._period_of(entry)
            # Otherwise it takes the place of the regular one, which is skipped.
            entry.is_brought_forward &= now_seconds + pause_seconds < entry.regular_due_seconds
        return key, due_seconds

    def bring_forward(self, key: str, to_seconds: float) -> bool:
        """Make a key due at this time, but at the earliest a second after its last reconcile began; later ones keep their times.

        False if it is due as early anyway, or is not known.
        """
        entry = self._entries.get(key)
        if entry is None:
            return False
        if entry.is_processed:
            entry.forward_seconds = min(entry.forward_seconds, to_seconds)
            return True
        earliest_seconds = max(
            to_seconds, entry.began_seconds + FORWARD_SECONDS_MIN, entry.rested_seconds
        )
        if entry.due_seconds <= earliest_seconds:
            return False
        entry.is_brought_forward = True
        self._set_due_once(key, entry, earliest_seconds)
        return True

    def is_brought_forward(self, key: str) -> bool:
        """Whether the key is processed only because it was brought forward."""
        entry = self._entries.get(key)
        return entry is not None and entry.is_brought_forward

    def make_due(self, key: str, now_seconds: float) -> None:
        """Make a key due now, or again once it has been processed; later ones keep their times."""
        entry = self._entries.get(key)
        if entry is None:
            return
        earliest_seconds = max(now_seconds, entry.rested_seconds)
        if entry.is_processed:
            entry.is_due_again = True
            return
        entry.is_brought_forward = False
        if entry.due_seconds > earliest_seconds:
            self._set_due_once(key, entry, earliest_seconds)

    def done(
        self,
        key: str,
        now_seconds: float,
        *,
        requeue: bool,
        is_retried: bool = False,
        work_seconds: float = 0.0,
    ) -> None:
        """The key has been processed. With `requeue` it is due again at the next multiple of the period.

        Due times that have passed meanwhile are skipped, and so is one that follows at once: that
        reconcile would read the autoscaler from before our own status write, and conflict.
        With `is_retried`, one whose period is longer than that of the queue is due after the latter, too.
        `work_seconds`: for how long it has occupied the event loop. It is not due again before that is a small part of the time.
        """
        self._turns.worked(key, work_seconds)
        entry = self._entries[key]
        if not requeue or entry.is_removed:
            del self._entries[key]
            return
        entry.is_processed = entry.is_brought_forward = False
        period = self._period_of(entry)
        due_seconds = entry.due_seconds
        if entry.regular_due_seconds is not None:
            due_seconds = entry.regular_due_seconds - period
            entry.regular_due_seconds = None
        entry.work_seconds = (entry.work_seconds + work_seconds) / 2
        entry.rested_seconds = now_seconds + entry.work_seconds * (1 / WORK_SHARE_MAX - 1)
        earliest_seconds = max(now_seconds + PAUSE_PERIODS_MIN * period, entry.rested_seconds)
        skipped = max(0, int((earliest_seconds - due_seconds) // period))
        self._set_due(key, entry, due_seconds + (skipped + 1) * period)
        if is_retried and period > self._period_seconds:
            retry_seconds = max(now_seconds + self._period_seconds, entry.rested_seconds)
            self._set_due_once(key, entry, min(retry_seconds, entry.due_seconds))
        forward_seconds, entry.forward_seconds = entry.forward_seconds, math.inf
        if forward_seconds < math.inf:
            self.bring_forward(key, max(earliest_seconds, forward_seconds))
        if entry.is_due_again:
            entry.is_due_again = False
            self.make_due(key, now_seconds)

    def period_seconds(self, key: str) -> float | None:
        """After which time the key is due again; None if it is not."""
        entry = self._entries.get(key)
        return None if entry is None or entry.is_removed else self._period_of(entry)

    @property
    def next_due_seconds(self) -> float | None:
        """The earliest due time after `get` has returned None; None when the queue is empty."""
        while self._heap and not self._is_due(*self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def remove(self, includes: Callable[[str], bool]) -> None:
        """Remove these keys; one that is being processed is not due again. Another replica reconciles them."""
        for key, entry in list(self._entries.items()):
            if not includes(key):
                continue
            if entry.is_processed:
                entry.is_removed = True
            else:
                del self._entries[key]

    def _period_of(self, entry: _Entry) -> float:
        return (
            self._period_seconds if entry.own_period_seconds is None else entry.own_period_seconds
        )

    def _set_due(self, key: str, entry: _Entry, due_seconds: float) -> None:
        entry.due_seconds = due_seconds
        heapq.heappush(self._heap, (due_seconds, key))
        if len(self._heap) > OUTDATED_RATIO_MAX * len(self._entries):
            # A key with a long period that is brought forward each second leaves a due time each second.
            self._heap = [
                (each.due_seconds, name)
                for name, each in self._entries.items()
                if not each.is_processed
            ]
            heapq.heapify(self._heap)
            self._turns.clear()

    def _set_due_once(self, key: str, entry: _Entry, due_seconds: float) -> None:
        """Earlier than in the order of reconciles."""
        if entry.regular_due_seconds is None:
            entry.regular_due_seconds = entry.due_seconds
        self._set_due(key, entry, due_seconds)

    def _is_due(self, due_seconds: float, key: str) -> bool:
        entry = self._entries.get(key)
        return entry is not None and not entry.is_processed and entry.due_seconds == due_seconds
