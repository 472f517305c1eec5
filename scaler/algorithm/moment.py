"""Now, and until when a decision that is made now holds.

Everything that depends on the time does so at certain moments only: a recommendation leaves its window, a change of
the replicas the period of a policy, a pod its initialization period; a hold or a cooldown ends. The
algorithm asks the moment whether a deadline is reached and never compares times itself, so the nearest deadline that
was not reached is known: until then, the same inputs lead to the same decision.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence

# A time that was added to another one may be off by rounding.
ROUNDING_SECONDS = 0.001


class Moment:
    """One moment, in Unix seconds. It belongs to one decision, which is made by one task."""

    __slots__ = ("_holds_until_unix_seconds", "now_unix_seconds")

    def __init__(self, now_unix_seconds: float, holds_until_unix_seconds: float = math.inf) -> None:
        self.now_unix_seconds = now_unix_seconds
        self._holds_until_unix_seconds = holds_until_unix_seconds

    @property
    def holds_until_unix_seconds(self) -> float:
        """The first moment at which the same inputs may lead to another decision."""
        return self._holds_until_unix_seconds - ROUNDING_SECONDS

    @property
    def next_deadline_unix_seconds(self) -> float:
        """The nearest deadline that was not reached; infinite if there is none."""
        return self._holds_until_unix_seconds

    def reached(self, deadline_unix_seconds: float) -> bool:
        """Whether it is the deadline, or later."""
        if self.now_unix_seconds >= deadline_unix_seconds:
            return True
        self.holds_until(deadline_unix_seconds)
        return False

    def passed(self, deadline_unix_seconds: float) -> bool:
        """Whether it is later than the deadline."""
        if self.now_unix_seconds > deadline_unix_seconds:
            return True
        self.holds_until(deadline_unix_seconds)
        return False

    def first_unreached(self, times: Sequence[float], seconds: float) -> int:
        """As `reached` of each time plus `seconds`, of ascending times: the index of the first one that is not."""

        def deadline(unix_seconds: float) -> float:
            return unix_seconds + seconds

        first = bisect_right(times, self.now_unix_seconds, key=deadline)
        if first < len(times):
            self.holds_until(deadline(times[first]))
        return first

    def holds_until(self, unix_seconds: float) -> None:
        """The decision holds no longer than until then."""
        self._holds_until_unix_seconds = min(self._holds_until_unix_seconds, unix_seconds)

    def changes_always(self) -> None:
        """The next reconcile must decide again."""
        self.holds_until(self.now_unix_seconds)

    def later(self, now_unix_seconds: float) -> "Moment":
        """The moment at which the same decision goes on."""
        return Moment(now_unix_seconds, self._holds_until_unix_seconds)
