"""What the points of a load say about the forecast: the figures, and how sure they are.

All frontiers are lower hulls. That of the rivals has all of their points and the HPA's: the best that one could have
chosen among them afterwards, for each cost. The forecast has fewer points, so the comparison is not in its favour.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence

import msgspec

from benchmarks.forecast import LEAST_PERCENT, TARGET, change_at_equal_hours
from benchmarks.frontier.measured import Measured, Point, cost_point
from benchmarks.frontier.replays import DEFAULT, FORECAST, HPA, PERFECT, PLAIN_KNOB, RIVALS
from kubectl_loadline.backtest.hull import CostPoint, area, lower_hull, short_at

EXTRA_PERCENTS = (0, 5, 10, 20)
# More than the HPA costs with its usual target.
COMPARED_COSTS = 101
RESAMPLED = 300
INTERVAL_PERCENT = 95.0
SEED = 20_261_126

Figures = Mapping[str, float]
"""By name, in percent or percentage points. Those that cannot be computed are missing."""


class Interval(msgspec.Struct, frozen=True):
    """A figure, and between what it lies in 95% of the loads that have the same days in another number."""

    value: float
    low: float
    high: float


class Frontiers(msgspec.Struct, frozen=True, kw_only=True):
    """Of one load: of each policy, of all others than the forecast, and the points that are compared at one target."""

    of_policy: Mapping[str, tuple[CostPoint, ...]]
    others: tuple[CostPoint, ...]
    hpa: tuple[CostPoint, ...]
    hpa_at_target: CostPoint
    at_target: Mapping[str, CostPoint]

    @property
    def costs(self) -> tuple[float, float]:
        """From the cheapest to the most expensive target of the HPA."""
        return min(cost for cost, _ in self.hpa), max(cost for cost, _ in self.hpa)


def frontiers(points: Sequence[Point], weights: Sequence[int] | None = None) -> Frontiers:
    """`weights`: how often each day counts."""
    costs = [(each, cost_point(each.days, weights)) for each in points]
    of_policy = {
        policy: lower_hull(cost for each, cost in costs if each.policy == policy)
        for policy in (HPA, *RIVALS, FORECAST)
    }
    at_target = [(each, cost) for each, cost in costs if each.target == TARGET]
    return Frontiers(
        of_policy=of_policy,
        others=lower_hull(cost for each, cost in costs if each.policy not in (FORECAST, PERFECT)),
        hpa=tuple(cost for each, cost in costs if each.policy == HPA),
        hpa_at_target=next(cost for each, cost in at_target if each.policy == HPA),
        at_target={
            each.policy if each.policy != FORECAST or each.knob == DEFAULT else each.knob: cost
            for each, cost in at_target
            if each.policy == FORECAST or each.knob == PLAIN_KNOB
        },
    )


def figures(found: Frontiers) -> Figures:
    """`change_percent POLICY`: at 70%, at equal replica-hours, against the tuned HPA. `tables` says what the others are."""
    hours, _ = found.hpa_at_target
    named: dict[str, float] = {}
    for policy, point in found.at_target.items():
        named[f"change_percent {policy}"] = change_at_equal_hours(point, found.hpa)
        named[f"more_hours_percent {policy}"] = 100.0 * (point[0] / hours - 1.0)
    for extra in EXTRA_PERCENTS:
        for policy, hull in found.of_policy.items():
            short = short_at(hull, hours * (1.0 + extra / 100.0))
            if short is not None:
                named[f"short_percent +{extra} {policy}"] = short
    return {**named, **_between(found)}


def _between(found: Frontiers) -> Figures:
    """The frontiers of the forecast and of all others, over the costs that the HPA's targets span and the forecast reaches."""
    forecast, (low, high) = found.of_policy[FORECAST], found.costs
    begin = max(low, forecast[0][0], found.others[0][0])
    if begin >= high:
        return {"covered_percent": 0.0}
    step = (high - begin) / (COMPARED_COSTS - 1)
    costs = [begin + step * index for index in range(COMPARED_COSTS)]
    ratios = [
        math.log(_short(forecast, cost)) - math.log(_short(found.others, cost)) for cost in costs
    ]
    points = area(forecast, begin, high) - area(found.others, begin, high)
    return {
        "covered_percent": 100.0 * (high - begin) / (high - low),
        "area_points": points / (high - begin),
        "area_percent": 100.0 * (math.exp(sum(ratios) / len(ratios)) - 1.0),
    }


def _short(hull: Sequence[CostPoint], cost: float) -> float:
    return max(LEAST_PERCENT, short_at(hull, cost) or 0.0)


def winner(found: Figures, extra_percent: int) -> str:
    """The policy that is short least at so much more than the HPA costs; the first one of several that are alike."""
    prefix = f"short_percent +{extra_percent} "
    shorts = {name.removeprefix(prefix): found[name] for name in found if name.startswith(prefix)}
    least = min(shorts.values())
    return next(name for name, short in shorts.items() if short <= least + LEAST_PERCENT)


def intervals(measured: Measured, names: Callable[[str], bool]) -> Mapping[str, Interval]:
    """Of the figures with such names: days are drawn with replacement, the same ones for all policies."""
    days = len(measured.points[0].days)
    chosen = random.Random(SEED)  # noqa: S311 - the same days in each run
    drawn = []
    for _ in range(RESAMPLED):
        weights = [0] * days
        for _ in range(days):
            weights[chosen.randrange(days)] += 1
        drawn.append(figures(frontiers(measured.points, weights)))
    return {
        name: _interval(value, [each[name] for each in drawn if name in each])
        for name, value in figures(frontiers(measured.points)).items()
        if names(name)
    }


def _interval(value: float, drawn: Sequence[float]) -> Interval:
    ordered = sorted(drawn)
    tail = (100.0 - INTERVAL_PERCENT) / 200.0
    last = len(ordered) - 1
    return Interval(value, ordered[round(tail * last)], ordered[round((1.0 - tail) * last)])
