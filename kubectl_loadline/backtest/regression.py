"""The part of a resource that pods use without load: use = idle * replicas + cost * load, by least squares."""

import math
from collections.abc import Sequence

from kubectl_loadline.backtest.series import Series

_LEAST_COUNTS = 3
_LEAST_CORRELATION = 0.9


def idle_use(use: Series, load: Series, replicas: Series) -> tuple[float, str]:
    """Per replica, 0 where the recording does not show it; and that in words."""
    rows = []
    for index, value in enumerate(use.values):
        at = use.start_unix_seconds + index * use.step_seconds
        count, beside = replicas.at(at), load.at(at)
        if value is not None and count is not None and beside is not None:
            rows.append((count, beside, value))
    if len({count for count, _, _ in rows}) < _LEAST_COUNTS:
        return (
            0.0,
            "fewer than 3 different replica counts were recorded, so an idle pod is assumed to use none",
        )
    idle, cost = _fit(rows)
    fitted = [idle * count + cost * beside for count, beside, _ in rows]
    if _correlation(fitted, [value for _, _, value in rows]) < _LEAST_CORRELATION:
        return (
            0.0,
            "it does not follow the load closely, so an idle pod is assumed to use none",
        )
    return idle, f"an idle pod uses {idle:.3g}, by regression on the other load"


def _fit(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Neither is negative."""
    nn = math.fsum(n * n for n, _, _ in rows)
    nl = math.fsum(n * x for n, x, _ in rows)
    ll = math.fsum(x * x for _, x, _ in rows)
    nu = math.fsum(n * u for n, _, u in rows)
    lu = math.fsum(x * u for _, x, u in rows)
    determinant = nn * ll - nl * nl
    if determinant > 1e-9 * nn * ll:
        idle, cost = (nu * ll - lu * nl) / determinant, (nn * lu - nl * nu) / determinant
        if idle >= 0 and cost >= 0:
            return idle, cost
    only_idle, only_cost = (nu / nn if nn else 0.0), (lu / ll if ll else 0.0)
    error_idle = math.fsum((u - only_idle * n) ** 2 for n, _, u in rows)
    error_cost = math.fsum((u - only_cost * x) ** 2 for _, x, u in rows)
    return (0.0, only_cost) if error_cost <= error_idle else (only_idle, 0.0)


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    mean_one, mean_other = math.fsum(one) / len(one), math.fsum(other) / len(other)
    both = math.fsum((a - mean_one) * (b - mean_other) for a, b in zip(one, other, strict=True))
    of_one = math.fsum((a - mean_one) ** 2 for a in one)
    of_other = math.fsum((b - mean_other) ** 2 for b in other)
    return both / math.sqrt(of_one * of_other) if of_one and of_other else 0.0
