"""The replicas that a forecast adds to what the recommendations of the metrics allow.

After stabilization, so that only recommendations of the metrics are remembered, and before rates and bounds, so that
`behavior` and `maxReplicas` limit a forecast as they limit a metric.
"""

import math

import msgspec

from scaler.algorithm.go_numbers import INT32_MAX

# With `maxExtraPercent`, a small target may always have this many more.
_EXTRA_REPLICAS_MIN = 2


def whole(replicas: float) -> int:
    """The replicas for this exact count. Rounding must not need one more for the same load."""
    return math.ceil(replicas - 1e-9)


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """At least so many replicas, but at most `allowed_extra` more than there would be without: what the budget allows.

    `needed` is the exact count that the expected load needs, `present` what the metric alone wants now: only the difference is expected.
    The rest is what stabilization, `behavior` and the other metrics decide on. `extra_ratio` is one more limit, None for none.
    """

    needed: float
    present: float = 0.0
    allowed_extra: int = INT32_MAX
    extra_ratio: float | None = None

    @property
    def replicas(self) -> int:
        """Whole replicas, as many as an int32 can be."""
        return whole(min(self.needed, INT32_MAX))

    @property
    def rise(self) -> int:
        """How many of them are expected to become needed."""
        return max(0, self.replicas - whole(self.present))


def lifted(replicas: int, floor: Floor | None, min_replicas: int) -> int:
    """Never fewer. What is added counts from the minimum, which is there without load, too.

    A target that may be at zero stays there: only its metrics start it.
    """
    without = max(replicas, min_replicas)
    if floor is None or without <= 0:
        return replicas
    most = min(without + min(floor.rise, floor.allowed_extra), INT32_MAX)
    if floor.extra_ratio is not None:
        extra = math.ceil(without * (1.0 + floor.extra_ratio))
        most = min(most, max(without + _EXTRA_REPLICAS_MIN, extra))
    return max(replicas, min(floor.replicas, most))
