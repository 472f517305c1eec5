"""How old a result may be when it answers another request, and what its rows cost."""

from typing import Final, Self

import msgspec

ROW_SECONDS: Final = 10e-6
"""What a row takes Prometheus and the adapter together, at most: 2 to 5 µs each."""
ROWS_PER_SECOND: Final = round(0.01 / ROW_SECONDS)
"""What a query in continuous use may return: its rows take at most a hundredth of a core."""


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """A bound for the age of a result, counted from when its query was sent.

    A small result is evaluated again after `seconds`. A large one costs more and answers more requests: it is reused for a second
    per 1,000 rows, at most `longest_seconds`.

    Where Prometheus is slow, a result is old when it arrives, as that of any other query would be. It may become twice as old, but no older
    than that and the bound together; otherwise nothing would be reused where that saves the most.
    """

    seconds: float = 1.0
    longest_seconds: float = 3.0
    """A fifth of the period of the HPA controller: by as much, a change of the metric may be noticed later."""

    @classmethod
    def always(cls, seconds: float) -> Self:
        """The same bound for all results; 0 shares only what is in flight."""
        return cls(seconds=seconds, longest_seconds=seconds)

    def of(self, rows: int, taken_seconds: float = 0.0) -> float:
        """The bound, in seconds, for a result of so many rows that arrived after `taken_seconds`."""
        bound_seconds = max(self.seconds, min(rows / ROWS_PER_SECOND, self.longest_seconds))
        return max(bound_seconds, taken_seconds + min(taken_seconds, bound_seconds))
