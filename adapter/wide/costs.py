"""Whether a wide query costs less than the own queries that it replaces, by what both took when they were evaluated last.

Two things are compared: the time, which is what requests wait for, and the samples that Prometheus has read, which is what it works for. A
result of a few rows may need all series of a large namespace. A backend that does not count samples is judged by the time only.
"""

from typing import Final

from adapter.model import Cost

TOLERATED_SECONDS: Final = 0.1
"""A wide query may take so much longer: a busy machine delays any response by as much."""
AT_ONCE: Final = 10
"""So many own queries are in progress at once: twice the workers of the HPA controller, and the time of a wave is that of a tenth of its queries."""
OWN_QUERIES_MIN: Final = 2
"""A wide query may also take as long as so many own queries one after the other."""
SAMPLES_PER_QUERY: Final = 1_000
"""Samples, beside those that an own query reads, that cost less than the query itself: 2.5 ms at most."""
OWN_MEASURED_SECONDS: Final = 600.0
"""How long a measurement of own queries counts while the wide query is fast."""
MEASURED_TOGETHER_SECONDS: Final = 30.0
"""If the wide query is slow, all queries may be. Only own queries of the same time can say, so only those count."""
WEIGHT: Final = 0.1
"""Of a new measurement in a mean."""
UNKNOWN: Final = Cost()


class Costs:
    """What a wide query and the own queries of its requests took."""

    __slots__ = (
        "_own_measured_at", "_own_requested_at", "_own_samples", "_own_seconds", "_wide_measured_at", "wide",
    )  # fmt: skip

    def __init__(self) -> None:
        self.wide = UNKNOWN
        """Of its last evaluation."""
        self._wide_measured_at = 0.0
        self._own_seconds: float | None = None
        self._own_samples: float | None = None
        self._own_measured_at = 0.0
        self._own_requested_at = 0.0
        """When a request was given its own query only to measure it."""

    def wide_took(self, cost: Cost, now_seconds: float) -> None:
        """Take the cost of an evaluation of the wide query."""
        self.wide = cost
        self._wide_measured_at = now_seconds

    def own_took(self, cost: Cost, now_seconds: float) -> None:
        """Take the cost of an own query.

        A shorter time counts at once, and a longer one slowly: the first queries of a connection take longer than those that follow. After a
        while without own queries, the former ones say nothing about the present.
        """
        known_seconds = self._own_seconds
        is_outdated = now_seconds - self._own_measured_at > MEASURED_TOGETHER_SECONDS
        if known_seconds is None or is_outdated or cost.seconds < known_seconds:
            self._own_seconds = cost.seconds
        else:
            self._own_seconds = known_seconds + WEIGHT * (cost.seconds - known_seconds)
        if cost.samples is not None:
            known = cost.samples if self._own_samples is None else self._own_samples
            self._own_samples = known + WEIGHT * (cost.samples - known)
        self._own_measured_at = now_seconds

    def own_may_be_outdated(self, now_seconds: float) -> bool:
        """Whether own queries were measured so long ago that `measures_own` may be true; it is quicker to say."""
        return self._own_age_seconds(now_seconds) > MEASURED_TOGETHER_SECONDS

    def measures_own(self, replaced: float, now_seconds: float) -> bool:
        """Whether a request should have its own query only to measure it, which is true for one request at a time."""
        if self._own_seconds is None:
            return False
        is_fast = self._is_fast(self._own_seconds, replaced)
        counts_seconds = OWN_MEASURED_SECONDS if is_fast else MEASURED_TOGETHER_SECONDS
        if self._own_age_seconds(now_seconds) <= counts_seconds:
            return False
        self._own_requested_at = now_seconds
        return True

    def _own_age_seconds(self, now_seconds: float) -> float:
        return now_seconds - max(self._own_measured_at, self._own_requested_at)

    def are_saved(self, replaced: float, *, in_doubt: bool = True) -> bool:
        """Whether the wide query costs no more than so many own queries; `in_doubt` is the answer if that is not known."""
        if self._own_seconds is None:
            return in_doubt
        if self.wide.samples is not None and self._own_samples is not None:
            samples_allowed = replaced * (self._own_samples + SAMPLES_PER_QUERY)
            if self.wide.samples > samples_allowed:
                return False
        if self._is_fast(self._own_seconds, replaced):
            return True
        apart_seconds = self._wide_measured_at - self._own_measured_at
        return in_doubt and apart_seconds > MEASURED_TOGETHER_SECONDS

    def _is_fast(self, own_seconds: float, replaced: float) -> bool:
        allowed_seconds = own_seconds * max(OWN_QUERIES_MIN, replaced / AT_ONCE)
        return self.wide.seconds <= TOLERATED_SECONDS + allowed_seconds

    def wait_seconds(self, *, is_trusted: bool) -> float:
        """How long a request waits for the wide query before it sends its own.

        `is_trusted`: the wide query has cost no more than what it replaced. Otherwise only own queries say how long a result may take.
        """
        expected_seconds = self._own_seconds or 0.0
        if is_trusted:
            expected_seconds = max(expected_seconds, self.wide.seconds)
        return 2 * (expected_seconds + TOLERATED_SECONDS)

    def sentence(self, replaced: float) -> str:
        """What was compared."""
        return (
            f"it took {_words(self.wide.seconds, self.wide.samples)}, "
            f"and each of the {replaced:.0f} queries of single requests took {_words(self._own_seconds or 0.0, self._own_samples)}"
        )


def _words(seconds: float, samples: float | None) -> str:
    return f"{seconds:.3f} s" + ("" if samples is None else f" and {samples:.0f} samples")
