"""When Prometheus scrapes the targets behind a query, and so how long its result cannot change.

Pure. Times are seconds of any clock, the same in all calls.
"""

import math
from typing import Final, Self

import msgspec

SPREAD_SECONDS_MAX: Final = 0.5
"""Samples that are farther apart are of targets that are scraped at different times."""
VISIBLE_SECONDS: Final = 0.1
"""How long after the beginning of a scrape its samples are expected to be stored. Those of most targets are within 50 ms."""
SETTLED_SECONDS: Final = 1.0
"""How much longer a scrape may take: until then, results are reused as if scrapes were not known."""
MOVED_SECONDS_MAX: Final = 0.25
"""How far a scrape may be from where it was expected. Prometheus keeps to its interval within milliseconds."""
TOLERANCE: Final = 0.02
"""Of the numbers of evaluations that are compared."""
INTERVAL_SECONDS_MIN: Final = 0.001
"""Durations in the configuration of Prometheus are whole milliseconds."""
COUNTED_RATIO_MAX: Final = 1.5
"""Between the intervals of two observations, of which the shortest count is 2 and 3 samples."""


class Scrapes(msgspec.Struct, frozen=True, kw_only=True):
    """Scrapes at regular intervals. `newest_seconds`: when the last one that is known began."""

    newest_seconds: float
    interval_seconds: float

    @classmethod
    def observed(
        cls,
        *,
        newest_seconds: float,
        oldest_seconds: float,
        count: float,
        counted_seconds: float,
        evaluated_seconds: float,
    ) -> Self | None:
        """From the times of the newest samples of all series, and how many samples one has in the `counted_seconds` before `evaluated_seconds`.

        None if they are not of one scrape, if the interval is not known, or if no server can have scraped then: the numbers are those of a
        backend, and anything else could not be computed with. Comparisons with NaN are false.
        """
        age_seconds = evaluated_seconds - newest_seconds
        is_one_scrape = 0 <= newest_seconds - oldest_seconds <= SPREAD_SECONDS_MAX
        is_counted = -SPREAD_SECONDS_MAX <= age_seconds <= counted_seconds
        if not (is_one_scrape and is_counted):
            return None
        if not 2 <= count <= counted_seconds / INTERVAL_SECONDS_MIN:
            return None
        return cls(newest_seconds=newest_seconds, interval_seconds=counted_seconds / count)

    def confirms(self, earlier: "Scrapes") -> "Scrapes | None":
        """These scrapes, if they are where they were expected by an earlier observation; None if not, or if none was made since.

        One of the two may have counted a sample less: one that was not stored yet.
        """
        passed_seconds = self.newest_seconds - earlier.newest_seconds
        intervals = sorted({self.interval_seconds, earlier.interval_seconds})
        if passed_seconds <= MOVED_SECONDS_MAX or intervals[-1] > COUNTED_RATIO_MAX * intervals[0]:
            return None
        for interval_seconds in intervals:
            moved_seconds = abs(math.remainder(passed_seconds, interval_seconds))
            if moved_seconds <= min(MOVED_SECONDS_MAX, interval_seconds / 8):
                return msgspec.structs.replace(self, interval_seconds=interval_seconds)
        return None

    def next_visible(self, after_seconds: float) -> float:
        """When the samples of the first scrape are stored that are not stored at this time."""
        since_seconds = after_seconds - VISIBLE_SECONDS - self.newest_seconds
        scrapes = math.floor(since_seconds / self.interval_seconds) + 1
        return self.newest_seconds + scrapes * self.interval_seconds + VISIBLE_SECONDS

    def reused_until(
        self, evaluated_seconds: float, *, fresh_seconds: float, longest_seconds: float
    ) -> float:
        """Until when a result serves that was evaluated then: until new samples are stored, and for `longest_seconds` at most.

        A result that may lack samples of a scrape that takes long serves for no longer than `fresh_seconds`.
        """
        if not self._costs_no_more(fresh_seconds, longest_seconds):
            return evaluated_seconds + fresh_seconds
        visible_seconds = self.next_visible(evaluated_seconds)
        since_seconds = evaluated_seconds - (visible_seconds - self.interval_seconds)
        is_settled = since_seconds >= SETTLED_SECONDS
        bound_seconds = max(fresh_seconds, longest_seconds) if is_settled else fresh_seconds
        return min(visible_seconds, evaluated_seconds + bound_seconds)

    def _costs_no_more(self, fresh_seconds: float, longest_seconds: float) -> bool:
        """Whether as few results are evaluated between two scrapes as if each served for `fresh_seconds`: the first one does, the others longer."""
        later_seconds = max(0.0, self.interval_seconds - fresh_seconds)
        evaluated = 1 + math.ceil(later_seconds / longest_seconds - TOLERANCE)
        return evaluated * fresh_seconds <= self.interval_seconds * (1 + TOLERANCE)
