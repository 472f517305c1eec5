"""What a forecast has learned from eight days with 60 in the queue, and 120 for a while each day, soon after now."""

import time
from array import array

import msgspec

from scaler.api.autoscaler import AutoscalerSpec
from scaler.extensions.forecast.choice import Shares
from scaler.extensions.forecast.digest import digest_of
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Levels
from scaler.extensions.forecast.quantiles import STEADY_START
from scaler.extensions.forecast.rules import forecast_rules
from scaler.extensions.forecast.state import RELIABLE, Forecast, Outcomes, Sums, Verdict
from tests.e2e.scaler_objects import Json

DAYS = 8
USUAL, RAISED = 60.0, 120.0
# Of the minutes after now.
RAISED_MINUTES = range(3, 60)


def learned_days(
    spec: Json, *, wasted_percent: float = 1.0, raised_minutes: range = RAISED_MINUTES
) -> str:
    """The digest, for an autoscaler with this spec. It may act, unless it has wasted too much."""
    decoded = msgspec.convert(spec, AutoscalerSpec)
    assert decoded.forecast is not None
    rules = forecast_rules(decoded, decoded.forecast)
    assert rules is not None
    now = int(time.time() // 60)
    first = now - DAYS * MINUTES_PER_DAY
    is_raised = [(minute - now) % MINUTES_PER_DAY in raised_minutes for minute in range(first, now)]
    values = array("f", (RAISED if each else USUAL for each in is_raised))
    interval = Sums(alone=100.0, added=4 * wasted_percent, useful=3 * wasted_percent, minutes=10)
    # It is suspended from 95% of its budget on.
    is_wasteful = wasted_percent >= 0.95 * rules.budget_percent
    state = Forecast(
        identity=rules.identity,
        lead_minutes=rules.lead_minutes,
        levels=Levels(values=values, end_minute=now - 1),
        offset=0.1 * sum(values) / len(values),
        model=STEADY_START,
        shares=Shares(model=0.9999, days=0.0),
        outcomes=Outcomes(intervals=(interval,) * (MINUTES_PER_DAY // 10)),
        verdict=Verdict(reason="TooMuchWaste" if is_wasteful else RELIABLE, message="learned"),
    )
    return digest_of(state)
