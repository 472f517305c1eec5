"""How well replicas served a load: the elasticity metrics of the SPEC Research Group, and a few more.

The demand at a minute is the least number of ready replicas that serve its load.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from scaler.backtest.replay import Step
from scaler.backtest.trace import STEP_SECONDS

SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86400


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are in percent of the scored time.

    `under_timeshare`, `over_timeshare`: with fewer, or more, ready replicas than demanded. `under_accuracy`,
    `over_accuracy`: by how many, relative to the demand, on average. `instability`: where demand and supply do not
    change in the same direction. `unserved`: of the load. `wasted`: replica-hours that a forecast added and the load did
    not need, in percent of those without it, on the worst day.
    """

    scored_hours: float
    replica_hours: float
    under_timeshare: float
    under_accuracy: float
    over_timeshare: float
    over_accuracy: float
    instability: float
    changes_per_day: float
    longest_under_minutes: int
    unserved: float


def demand(load: float, served_per_replica: float) -> int:
    """The replicas that must be ready."""
    return max(0, math.ceil(load / served_per_replica - 1e-9))


def score(steps: Iterable[Step], served_per_replica: float) -> Score:
    """Minutes without a recorded load do not count."""
    known = [each for each in steps if each.load is not None]
    pairs = [(demand(each.load or 0.0, served_per_replica), each.ready) for each in known]
    minutes = max(1, len(pairs))
    under = [max(d - s, 0) / d if d else 0.0 for d, s in pairs]
    over = [max(s - d, 0) / max(d, 1) for d, s in pairs]
    loads = math.fsum(each.load or 0.0 for each in known)
    lost = math.fsum(
        max((each.load or 0.0) - served_per_replica * each.ready, 0.0) for each in known
    )
    changes = sum(1 for one, other in pairwise(known) if one.requested != other.requested)
    hours = minutes * STEP_SECONDS / SECONDS_PER_HOUR
    return Score(
        scored_hours=hours,
        replica_hours=sum(each.requested for each in known) * STEP_SECONDS / SECONDS_PER_HOUR,
        under_timeshare=100 * sum(1 for each in under if each) / minutes,
        under_accuracy=100 * math.fsum(under) / minutes,
        over_timeshare=100 * sum(1 for each in over if each) / minutes,
        over_accuracy=100 * math.fsum(over) / minutes,
        instability=100 * _unlike(pairs) / minutes,
        changes_per_day=changes / (hours / 24),
        longest_under_minutes=_longest([bool(each) for each in under]),
        unserved=100 * lost / loads if loads else 0.0,
    )


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
