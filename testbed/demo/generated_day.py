"""PURE  A day of requests as Prometheus could have recorded it, with the replicas that an HPA set for them.

Nights are quiet; the load has a hump in the morning and another in the evening, and a sale that begins at once.
"""

import math
import random
from collections.abc import Iterator
from typing import Any, Final

METRIC: Final = "http_requests_per_second"
START_UNIX_SECONDS: Final = 1_793_577_600  # a Monday
MINUTES: Final = 1440
TARGET: Final = 50
MIN_REPLICAS, MAX_REPLICAS = 2, 30
TOLERANCE: Final = 0.1
WINDOW_MINUTES: Final = 5  # the default stabilization window of a scale-down
SALE: Final = range(13 * 60, 13 * 60 + 40)
SEED: Final = 1


def requests_per_second(minute: int, noise: float) -> float:
    """The load of the whole workload."""
    humps = sum(
        height * math.exp(-(((minute - peak) / width) ** 2))
        for height, peak, width in ((450, 10 * 60, 110), (650, 19 * 60, 130))
    )
    sale = 420 if minute in SALE else 0
    return (60 + humps + sale) * (1 + 0.04 * noise)


def rows() -> Iterator[str]:
    """A CSV: the time, the load, and the replicas of that minute."""
    noise = random.Random(SEED)  # noqa: S311 - the same day each time
    replicas, recent = MIN_REPLICAS, [MIN_REPLICAS] * WINDOW_MINUTES
    yield f"time,{METRIC},replicas,ready_replicas"
    for minute in range(MINUTES):
        load = requests_per_second(minute, noise.gauss(0, 1))
        yield f"{START_UNIX_SECONDS + 60 * minute},{load:.1f},{replicas},{replicas}"
        recent = [*recent[1:], desired(load, replicas)]
        replicas = max(recent)


def desired(load: float, replicas: int) -> int:
    """As the HPA controller computes it, without its limits on the rate."""
    ratio = load / replicas / TARGET
    if abs(ratio - 1) <= TOLERANCE:
        return replicas
    return min(max(math.ceil(load / TARGET), MIN_REPLICAS), MAX_REPLICAS)


def autoscaler(name: str, target: int) -> dict[str, Any]:
    """An HPA on the requests of each pod."""
    value = {"type": "AverageValue", "averageValue": str(target)}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": MIN_REPLICAS,
            "maxReplicas": MAX_REPLICAS,
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": METRIC}, "target": value}}],
        },
    }
