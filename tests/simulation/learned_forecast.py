"""A status with what a forecast has learned: eight days, each with the load of the simulation at its time of day.

A simulation is shorter than a forecast learns, so its autoscalers begin as after a restart. The forecast knows every
change of the load before it happens.
"""

from array import array
from functools import cache

import msgspec

from scaler.api.autoscaler import AutoscalerSpec
from scaler.extensions.forecast.choice import Shares
from scaler.extensions.forecast.digest import digest_of
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Levels
from scaler.extensions.forecast.quantiles import STEADY_START
from scaler.extensions.forecast.rules import forecast_rules
from scaler.extensions.forecast.state import RELIABLE, Forecast, Outcomes, Sums, Verdict
from tests.simulation.cluster import Document
from tests.simulation.metrics_apis import UNITS_PER_REPLICA
from tests.simulation.scenario import AutoscalerPlan
from tests.simulation.workloads import Curve

DAYS = 8
SUSPENDED = "Suspended"
GOOD = Sums(alone=100.0, added=4.0, useful=3.0, minutes=10)
WASTEFUL = Sums(alone=100.0, added=60.0, useful=15.0, minutes=10)


def learned_status(plan: AutoscalerPlan, spec: Document, epoch_unix_seconds: int) -> Document:
    """The status of an autoscaler with a forecast."""
    decoded = msgspec.convert(spec, AutoscalerSpec)
    assert decoded.forecast is not None
    rules = forecast_rules(decoded, decoded.forecast)
    assert rules is not None
    is_suspended = plan.fields.forecast == SUSPENDED
    load = plan.load
    if plan.fields.is_formula:
        # Of which the value is in replicas.
        replicas = tuple(each / UNITS_PER_REPLICA for each in load.values)
        load = msgspec.structs.replace(load, values=replicas)
    text = _digest(
        rules.identity, rules.lead_minutes, load, epoch_unix_seconds, is_suspended=is_suspended
    )
    return {"history": {"forecast": text}}


@cache
def _digest(
    identity: str, lead_minutes: int, load: Curve, epoch: int, *, is_suspended: bool
) -> str:
    last = epoch // 60 - 1
    minutes = range(last + 1 - DAYS * MINUTES_PER_DAY, last + 1)
    values = array("f", (_load(load, minute, epoch) for minute in minutes))
    interval = WASTEFUL if is_suspended else GOOD
    state = Forecast(
        identity=identity,
        lead_minutes=lead_minutes,
        levels=Levels(values=values, end_minute=last),
        offset=max(0.1 * sum(values) / len(values), 1e-9),
        model=STEADY_START,
        shares=Shares(model=0.9999, days=0.0),
        outcomes=Outcomes(intervals=(interval,) * (MINUTES_PER_DAY // 10)),
        verdict=Verdict(reason="TooMuchWaste" if is_suspended else RELIABLE, message="simulated"),
    )
    return digest_of(state)


def _load(load: Curve, minute: int, epoch: int) -> float:
    """The load at the same time of the day on which the simulation begins."""
    days = -((minute + 1 - epoch // 60 - MINUTES_PER_DAY // 2) // MINUTES_PER_DAY)
    return load.at(60 * (minute + days * MINUTES_PER_DAY) - epoch)
