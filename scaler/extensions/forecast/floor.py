"""The replicas that a forecast adds to what the recommendations of the metrics allow.

After stabilization, so that only recommendations of the metrics are remembered, and before rates and bounds, so that
`behavior` and `maxReplicas` limit a forecast as they limit a metric.
"""

import math

import msgspec

from scaler.algorithm.go_numbers import INT32_MAX

# A small target may always have this many more, whatever percentage is allowed.
_EXTRA_REPLICAS_MIN = 2


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """At least so many replicas, but at most `extra_ratio` more than there would be without.

    `needed` is the exact count that the expected load needs. As with a metric, a difference within the tolerance
    changes nothing.
    """

    needed: float
    extra_ratio: float
    tolerance: float = 0.0

    @property
    def replicas(self) -> int:
        """Whole replicas, as many as an int32 can be. Rounding must not need one more for the same load."""
        return math.ceil(min(self.needed - 1e-9, INT32_MAX))


def lifted(replicas: int, floor: Floor | None) -> int:
    """Never fewer. A target at zero stays there: only its metrics start it."""
    if floor is None or replicas <= 0 or floor.needed <= replicas * (1.0 + floor.tolerance):
        return replicas
    most = max(replicas + _EXTRA_REPLICAS_MIN, math.ceil(replicas * (1.0 + floor.extra_ratio)))
    return max(replicas, min(floor.replicas, most))
