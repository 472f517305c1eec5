"""When a plan will be needed next, from when it was needed. Pure: time is an argument.

A plan is needed when a request finds no fresh result of it. An autoscaler needs its plan on a period, so the plan can be evaluated
just before, and the request does not wait. What is counted does not depend on refreshes, so they do not change the period.
"""

from typing import Final

REMEMBERED: Final = 3
PERIOD_MAX_SECONDS: Final = 300.0
CONTINUOUS_RATIO: Final = 1.5
"""A plan that is needed again within so many times the freshness bound is in use all the time."""
LEAD_RATIO: Final = 0.25
"""How much of the freshness bound a refresh is early, apart from its duration: autoscalers are not exactly on time."""


class Needs:
    """The last times that one plan was needed."""

    def __init__(self, *, freshness_seconds: float) -> None:
        self.duration_seconds = 0.0
        """Of the last evaluation."""
        self.freshness_seconds = freshness_seconds
        """The bound for the last result."""
        self._times: tuple[float, ...] = ()

    def requested(self, now_seconds: float) -> bool:
        """A request for the plan arrived; whether the plan was needed, or the result of the last need still serves."""
        if self._times and now_seconds - self._times[-1] < self.freshness_seconds:
            return False
        self._times = (*self._times, now_seconds)[-REMEMBERED:]
        return True

    @property
    def period_seconds(self) -> float | None:
        """The time between the last needs; None when they were not regular."""
        if len(self._times) < REMEMBERED:
            return None
        first, second, third = self._times
        period, previous = third - second, second - first
        jitter = self.freshness_seconds * (1 - 2 * LEAD_RATIO)
        return period if abs(period - previous) <= jitter and period <= PERIOD_MAX_SECONDS else None

    def refresh_at(self, *, sent_at: float) -> float | None:
        """When to evaluate the plan again, so that it is fresh when it is needed next; None when that cannot be predicted.

        `sent_at`: when the result that serves the last need was sent for.
        """
        period = self.period_seconds
        if period is None:
            return None
        if period < CONTINUOUS_RATIO * self.freshness_seconds:
            return sent_at + max(
                self.freshness_seconds - self.duration_seconds, self.freshness_seconds / 2
            )
        early = self.duration_seconds + LEAD_RATIO * self.freshness_seconds
        return self._times[-1] + period - min(early, self.freshness_seconds / 2)
