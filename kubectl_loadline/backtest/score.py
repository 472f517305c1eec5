"""How well replicas served a load: the elasticity metrics of the SPEC Research Group, and a few more.

The demand at a minute is the least number of ready replicas that serve its load.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

SECONDS_PER_HOUR = 3600


class Point(msgspec.Struct, frozen=True):
    """One step: the load, the replicas that it demands, and those that were ready and requested."""

    load: float
    demand: int
    ready: int
    requested: int


class Score(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Shares are in percent of the scored time.

    `under_timeshare`, `over_timeshare`: with fewer, or more, ready replicas than demanded. `under_accuracy`,
    `over_accuracy`: by how many, relative to the demand, on average. `instability`: where demand and supply do not
    change in the same direction. `jitter_per_hour`: changes of the supply minus those of the demand. `unserved`: of the
    load. `wasted_additions`: replicas that were added and removed without having been demanded, in percent of those added.
    """

    scored_hours: float
    replica_hours: float
    under_timeshare: float
    under_accuracy: float
    over_timeshare: float
    over_accuracy: float
    instability: float
    changes_per_day: float
    longest_under_minutes: float
    unserved: float
    jitter_per_hour: float = 0.0
    wasted_additions: float = 0.0


def demand(load: float, served_per_replica: float) -> int:
    """The replicas that must be ready."""
    return max(0, math.ceil(load / served_per_replica - 1e-9))


def score_of(points: Sequence[Point], step_seconds: int, served_per_replica: float) -> Score:
    """`served_per_replica`: of the load of the points."""
    count = max(1, len(points))
    under = [max(p.demand - p.ready, 0) / p.demand if p.demand else 0.0 for p in points]
    over = [max(p.ready - p.demand, 0) / max(p.demand, 1) for p in points]
    # A negative load needs no replica, and makes that of another time no smaller.
    loads = math.fsum(max(p.load, 0.0) for p in points)
    lost = math.fsum(max(p.load - served_per_replica * p.ready, 0.0) for p in points)
    hours = count * step_seconds / SECONDS_PER_HOUR
    of_supply = sum(1 for one, other in pairwise(points) if one.ready != other.ready)
    of_demand = sum(1 for one, other in pairwise(points) if one.demand != other.demand)
    changes = sum(1 for one, other in pairwise(points) if one.requested != other.requested)
    return Score(
        scored_hours=hours,
        replica_hours=sum(p.requested for p in points) * step_seconds / SECONDS_PER_HOUR,
        under_timeshare=100 * sum(1 for each in under if each) / count,
        under_accuracy=100 * math.fsum(under) / count,
        over_timeshare=100 * sum(1 for each in over if each) / count,
        over_accuracy=100 * math.fsum(over) / count,
        instability=100 * _unlike([(p.demand, p.ready) for p in points]) / count,
        changes_per_day=changes / (hours / 24),
        longest_under_minutes=_longest([bool(each) for each in under]) * step_seconds / 60,
        unserved=100 * lost / loads if loads else 0.0,
        jitter_per_hour=(of_supply - of_demand) / hours,
        wasted_additions=_wasted_additions(points),
    )


def _wasted_additions(points: Sequence[Point]) -> float:
    """Of each added replica: whether the demand reached its number while it existed. Those at the end are not judged."""
    added = wasted = 0
    # The number of each added replica, and the highest demand since, which the replicas below it have seen as well.
    stack: list[tuple[int, int]] = []
    for before, point in pairwise(points):
        stack.extend((number, 0) for number in range(before.requested + 1, point.requested + 1))
        while stack and stack[-1][0] > point.requested:
            number, highest = stack.pop()
            added, wasted = added + 1, wasted + (highest < number)
            if stack:
                stack[-1] = (stack[-1][0], max(stack[-1][1], highest))
        if stack:
            stack[-1] = (stack[-1][0], max(stack[-1][1], point.demand))
    return 100 * wasted / added if added else 0.0


def _unlike(pairs: Sequence[tuple[int, int]]) -> int:
    return sum(1 for (d0, s0), (d1, s1) in pairwise(pairs) if _sign(d1 - d0) != _sign(s1 - s0))


def _sign(change: int) -> int:
    return (change > 0) - (change < 0)


def _longest(flags: Sequence[bool]) -> int:
    longest = current = 0
    for each in flags:
        current = current + 1 if each else 0
        longest = max(longest, current)
    return longest
