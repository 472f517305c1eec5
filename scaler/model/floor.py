"""The replicas that a forecast adds to what the recommendations of the metrics allow.

After stabilization, so that only recommendations of the metrics are remembered, and before rates and bounds, so that
`behavior` and `maxReplicas` limit a forecast as they limit a metric.
"""

import math

import msgspec

# A small target may always have this many more, whatever percentage is allowed.
_EXTRA_REPLICAS_MIN = 2


class Floor(msgspec.Struct, frozen=True):
    """At least so many replicas, but at most `extra_ratio` more than there would be without."""

    replicas: int
    extra_ratio: float


def lifted(replicas: int, floor: Floor | None) -> int:
    """Never fewer. A target at zero stays there: only its metrics start it."""
    if floor is None or replicas <= 0:
        return replicas
    most = max(replicas + _EXTRA_REPLICAS_MIN, math.ceil(replicas * (1.0 + floor.extra_ratio)))
    return max(replicas, min(floor.replicas, most))
