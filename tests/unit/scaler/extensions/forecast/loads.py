"""Loads by the minute, without randomness, and states of a forecast that has seen them."""

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from zoneinfo import ZoneInfo

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.combination import OPTIONS, combined
from scaler.extensions.forecast.combination import START as START_SHARES
from scaler.extensions.forecast.days import day_lags
from scaler.extensions.forecast.floor import Floor, lifted
from scaler.extensions.forecast.learner import counted, observed
from scaler.extensions.forecast.levels import appended
from scaler.extensions.forecast.load_levels import NO_LEVELS, Levels
from scaler.extensions.forecast.state import FEATURES, Forecast, Issued, Load, Observation

DAY = 1440
BUDGET = 30.0
"""Percent."""
# A Thursday, 00:00 UTC.
START = 20_000 * DAY

Shape = Callable[[int], float]


def noise(minute: int) -> float:
    """Between -1 and 1, and the same for the same minute."""
    return math.sin(minute * 12.9898) * 43758.5453 % 1.0 * 2.0 - 1.0


def daily(minute: int) -> float:
    """From 100 at night to 500 at noon, with some noise."""
    return 300.0 - 200.0 * math.cos(2 * math.pi * minute / DAY) + 5.0 * noise(minute)


def learned(
    shape: Shape,
    minutes: Iterable[int],
    *,
    lead: int = 5,
    per_replica: float = 10.0,
    budget: float = BUDGET,
) -> Forecast:
    """A forecast that has seen these minutes; the replicas are always those that the load needs."""
    found = states(shape, minutes, lead=lead, per_replica=per_replica, budget=budget)
    return deque(found, maxlen=1)[0]


def states(
    shape: Shape,
    minutes: Iterable[int],
    *,
    lead: int = 5,
    per_replica: float = 10.0,
    budget: float = BUDGET,
    zone: ZoneInfo | None = None,
    after: Forecast | None = None,
) -> Iterator[Forecast]:
    """The forecast after each minute. It adds what its budget allows, and nothing while it is suspended."""
    state = after or Forecast(identity="load", lead_minutes=lead)
    for minute in minutes:
        load = shape(minute)
        needed = max(1, math.ceil(load / per_replica))
        state = observed(
            state,
            observation(START + minute, load, per_replica=per_replica, budget=budget, zone=zone),
        )
        floor = None
        if state.bound is not None:
            allowed_extra = budget_of(state, budget).replicas(1)
            floor = Floor(needed=state.bound / per_replica, allowed_extra=allowed_extra)
        final = lifted(needed, floor) if state.verdict.counts_as_acting else needed
        state = counted(state, alone=needed, final=final)
        yield state


def observation(
    minute: int,
    load: float,
    *,
    per_replica: float = 10.0,
    budget: float = BUDGET,
    zone: ZoneInfo | None = None,
) -> Observation:
    """Of a load whose metric alone has the replicas that it needs."""
    needed = math.ceil(load / per_replica)
    return Observation(
        minute=minute,
        load=Load(total=load, per_replica=per_replica),
        needed=needed,
        alone=max(1, needed),
        most=1_000,
        budget_percent=budget,
        lags=day_lags(minute, zone),
    )


def rising(end_minute: int) -> Levels:
    """A steady load of the last hour and a half."""
    levels = NO_LEVELS
    for minute in range(end_minute - 90, end_minute):
        levels = appended(levels, minute, 50.0)
    return levels


def issued(minute: int) -> Issued:
    """A forecast of that minute, whose outcome is not known yet."""
    features = (1.0,) + (0.0,) * (FEATURES - 1)
    nothing = array("f", [0.0] * OPTIONS)
    return Issued(
        minute=minute,
        lead_minutes=1,
        features=features,
        options=nothing,
        combined=combined(START_SHARES, nothing, 5.0),
        needed=5,
        alone=5,
        final=5,
    )
