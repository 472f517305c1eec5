"""A status with what a forecast has learned: eight days, each with the load of the simulation at its time of day.

A simulation is shorter than a forecast learns, so its autoscalers begin as after a restart. The forecast knows every
change of the load before it happens.
"""

from array import array
from functools import cache

import msgspec

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.rules import ForecastRules
from scaler.extensions.forecast.state import Sums
from tests.learned_forecast import LEARNED_MINUTES, learned_digest, rules_of
from tests.simulation.cluster import Document
from tests.simulation.metrics_apis import UNITS_PER_REPLICA
from tests.simulation.scenario import AutoscalerPlan
from tests.simulation.workloads import Curve

SUSPENDED = "Suspended"
GOOD = Sums(alone=100.0, added=4.0, useful=3.0, minutes=10)
WASTEFUL = Sums(alone=100.0, added=60.0, useful=15.0, minutes=10)


def learned_status(plan: AutoscalerPlan, spec: Document, epoch_unix_seconds: int) -> Document:
    """The status of an autoscaler with a forecast."""
    load = plan.load
    if plan.fields.is_formula:
        # Of which the value is in replicas.
        replicas = tuple(each / UNITS_PER_REPLICA for each in load.values)
        load = msgspec.structs.replace(load, values=replicas)
    may_act = plan.fields.forecast != SUSPENDED
    text = _digest(rules_of(spec), load, epoch_unix_seconds, may_act=may_act)
    return {"history": {"forecast": text}}


@cache
def _digest(rules: ForecastRules, load: Curve, epoch: int, *, may_act: bool) -> str:
    last = epoch // 60 - 1
    minutes = range(last + 1 - LEARNED_MINUTES, last + 1)
    loads = array("f", (_load(load, minute, epoch) for minute in minutes))
    return learned_digest(rules, loads, last, GOOD if may_act else WASTEFUL, may_act=may_act)


def _load(load: Curve, minute: int, epoch: int) -> float:
    """The load at the same time of the day on which the simulation begins."""
    days = -((minute + 1 - epoch // 60 - MINUTES_PER_DAY // 2) // MINUTES_PER_DAY)
    return load.at(60 * (minute + days * MINUTES_PER_DAY) - epoch)
