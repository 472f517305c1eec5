"""Loads by the minute, without randomness, and states of a forecast that has seen them."""

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from zoneinfo import ZoneInfo

from scaler.extensions.forecast.budget import budget_of
from scaler.extensions.forecast.days import day_lags
from scaler.extensions.forecast.features import FEATURES
from scaler.extensions.forecast.floor import Floor, lifted
from scaler.extensions.forecast.learner import counted, observed
from scaler.extensions.forecast.levels import appended
from scaler.extensions.forecast.load_levels import NO_LEVELS, Levels
from scaler.extensions.forecast.rules import BUDGET_PERCENT
from scaler.extensions.forecast.state import Forecast, Issued, Load, Observation

HOUR = 60
DAY = 1440
BUDGET = float(BUDGET_PERCENT)
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


def opening_hours(minute: int) -> float:
    """From one minute to the next it is three times as high, and for ten hours of the day."""
    return 300.0 if 8 * HOUR <= minute % DAY < 18 * HOUR else 100.0


def each_hour(minute: int) -> float:
    """A batch in the last ten minutes of each hour, with some noise."""
    return (500.0 if minute % HOUR >= 50 else 100.0) + 5.0 * noise(minute)


def learned(
    shape: Shape,
    minutes: Iterable[int],
    *,
    lead: int = 5,
    per_replica: float = 10.0,
    budget: float = BUDGET,
    zone: ZoneInfo | None = None,
    after: Forecast | None = None,
) -> Forecast:
    """A forecast that has seen these minutes; the replicas are always those that the load needs."""
    found = states(
        shape,
        minutes,
        lead=lead,
        per_replica=per_replica,
        budget=budget,
        zone=zone,
        after=after,
    )
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
        if state.wanted is not None:
            allowed_extra = budget_of(state, budget).replicas(1)
            floor = Floor(needed=float(state.wanted), allowed_extra=allowed_extra)
        final = lifted(needed, floor, 1) if state.verdict.counts_as_acting else needed
        state = counted(state, alone=needed, final=final)
        yield state


BEFORE_OPENING = 7 * DAY + 8 * HOUR - 4


@cache
def before_opening() -> Forecast:
    """It has seen seven days, and then until three minutes before the jump, which is within the lead. Several modules continue it."""
    return learned(opening_hours, range(BEFORE_OPENING + 1))


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
    return Issued(
        minute=minute,
        lead_minutes=1,
        features=array("f", [1.0]) + array("f", [0.0]) * (FEATURES - 1),
        present=5,
        by_model=5,
        by_days=5,
        needed=5,
        alone=5,
        final=5,
    )
