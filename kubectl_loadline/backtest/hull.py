"""Costs against time short, as points (replica-hours, percent of the time), and what lies between two sets of them.

Between two points of a frontier lies what one gets by using the one for a part of the time and the other for the rest. So
the frontier of a set of points is their lower convex hull, from the cheapest one on.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

CostPoint = tuple[float, float]


def lower_hull(points: Iterable[CostPoint]) -> tuple[CostPoint, ...]:
    """By ascending cost. More cost means less time short: points that cost more without that are left out."""
    hull: list[CostPoint] = []
    for point in sorted(points):
        if hull and point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and not _is_convex(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return tuple(hull)


def _is_convex(first: CostPoint, middle: CostPoint, last: CostPoint) -> bool:
    """Whether the middle lies below the line between the others."""
    (x0, y0), (x1, y1), (x2, y2) = first, middle, last
    return (y1 - y0) * (x2 - x0) < (y2 - y0) * (x1 - x0)


def short_at(hull: Sequence[CostPoint], cost: float) -> float | None:
    """None for less than the cheapest point costs. Beyond the most expensive one, more cost changes nothing."""
    if not hull or cost < hull[0][0]:
        return None
    for (low, more), (high, less) in pairwise(hull):
        if cost <= high:
            return more + (less - more) * (cost - low) / (high - low)
    return hull[-1][1]


def area(hull: Sequence[CostPoint], low: float, high: float) -> float:
    """Below a frontier between two costs, neither of which is less than its cheapest point."""
    costs = [low, *(cost for cost, _ in hull if low < cost < high), high]
    heights = [short_at(hull, cost) for cost in costs]
    if None in heights:
        raise ValueError(f"the frontier begins at {hull[0][0] if hull else None}, not at {low}")
    known = [each for each in heights if each is not None]
    return sum(
        (one + other) / 2 * (end - begin)
        for (begin, end), (one, other) in zip(pairwise(costs), pairwise(known), strict=True)
    )
