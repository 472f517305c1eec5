"""Autoscalers with a forecast, and memories with what it expects."""

import math

import msgspec

from scaler.algorithm.settings import Settings
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.levels import appended
from scaler.extensions.forecast.load_levels import NO_LEVELS
from scaler.extensions.forecast.state import (
    RELIABLE,
    Forecast,
    ForecastMemory,
    Outcomes,
    Sums,
    Verdict,
)
from tests.unit.scaler.objects import (
    NOW,
    average,
    effective,
    external,
    named,
    recommended,
    replaced,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
LOAD = named(external(average("10")), "load")
MAY_ACT = Verdict(reason=RELIABLE, message="82% were needed")
MINUTE = int(NOW // 60)


def forecasting(*metrics, mode="Add", min_replicas=1, max_replicas=100, behavior=None, **fields):
    of = spec(
        *(metrics or (LOAD,)),
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        behavior=behavior,
    )
    return replaced(of, forecast=ForecastSpec(metric="load", mode=mode, **fields))


def expecting(
    of,
    bound,
    *,
    per_replica=10.0,
    verdict=MAY_ACT,
    memory=None,
    age_minutes=0,
    day_replica_minutes=7200.0,
):
    """A memory with a forecast of this minute, so that the load of this reconcile does not replace it."""
    rules_ = effective(of, LA).rules["forecast"]
    state = Forecast(
        identity=rules_.identity,
        lead_minutes=rules_.lead_minutes,
        levels=appended(NO_LEVELS, MINUTE - age_minutes, 1.0),
        bound=bound,
        wanted=None if bound is None else math.ceil(bound / per_replica),
        verdict=verdict,
        summary_minute=MINUTE,
        outcomes=Outcomes(day=Sums(alone=day_replica_minutes, minutes=1440)),
    )
    return msgspec.structs.replace(
        memory or recommended((1, 900)), states={"forecast": ForecastMemory(state=state)}
    )
