"""The bounds of all schedules together, also while some of them are on a ramp.

Schedules within their windows set the largest of their minReplicas and the smallest of their maxReplicas. A ramp is a straight
line from the bounds that apply without its schedule to those that apply with it. So where another schedule has raised
maxReplicas already, a ramp that raises it as well does not lower it first, and no bound changes by a step.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

# Shares are quotients: a count that is exact must not be rounded up to the next one.
_DIGITS = 9


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule that sets bounds now, None where it leaves one as it is. On its ramp `share` is less than 1."""

    name: str
    share: float
    min_replicas: int | None
    max_replicas: int | None


def floor_of(active: Sequence[Active], min_replicas: int) -> int | None:
    """The minReplicas of all schedules; None where no active one sets it. `min_replicas` is that of the spec."""
    bounds = [(each.min_replicas, each.share) for each in active if each.min_replicas is not None]
    return _approached(sorted(bounds), min_replicas) if bounds else None


def cap_of(active: Sequence[Active], max_replicas: int) -> int | None:
    """The maxReplicas of all schedules; None where no active one sets it. `max_replicas` is that of the spec."""
    bounds = [(each.max_replicas, each.share) for each in active if each.max_replicas is not None]
    return _approached(sorted(bounds, reverse=True), max_replicas) if bounds else None


def _approached(bounds: Iterable[tuple[int, float]], of_spec: int) -> int:
    """From the bound of the spec by the share of each schedule, the one that wins last; rounded up, to more replicas."""
    found: float = of_spec
    for bound, share in bounds:
        found = bound if share >= 1 else found + (bound - found) * share
    return math.ceil(round(found, _DIGITS))
