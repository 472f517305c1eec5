"""The counts that the page itself has seen since it was opened: what it can show of the last hour without Prometheus."""

from collections import deque

import msgspec

from kubectl_loadline.status.row import Row

KEPT_SECONDS = 3600.0
POINTS_MAX = 120
"""For each autoscaler; only changes are kept. 5,000 autoscalers that change all the time need about 60 MB."""


class Counts(msgspec.Struct, frozen=True):
    """As a status has them. None: not known."""

    current: int | None
    desired: int | None
    min: int
    max: int


class Seen(msgspec.Struct, frozen=True):
    """Counts, and the Unix time from which on there were these."""

    since_unix_seconds: float
    counts: Counts


class Collected:
    """Bounded by time and number. `opened_unix_seconds` is when the first rows arrived."""

    def __init__(self, opened_unix_seconds: float) -> None:
        self.opened_unix_seconds = opened_unix_seconds
        self._seen: dict[str, deque[Seen]] = {}

    def note(self, row: Row, now_unix_seconds: float) -> None:
        """The row as it is from now on."""
        counts = Counts(row.current, row.desired, row.min, row.max)
        seen = self._seen.setdefault(row.key, deque(maxlen=POINTS_MAX))
        if not seen or seen[-1].counts != counts:
            seen.append(Seen(now_unix_seconds, counts))
        # The one before the oldest time still holds at that time.
        while len(seen) > 1 and seen[1].since_unix_seconds < now_unix_seconds - KEPT_SECONDS:
            seen.popleft()

    def forget(self, key: str) -> None:
        """It was deleted."""
        self._seen.pop(key, None)

    def of(self, key: str) -> tuple[Seen, ...]:
        """In the order of time."""
        return tuple(self._seen.get(key, ()))
