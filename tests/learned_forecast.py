"""What a forecast has learned from eight days, as its autoscaler stores it."""

import msgspec

from scaler.api.autoscaler import AutoscalerSpec
from scaler.extensions.forecast.choice import Shares
from scaler.extensions.forecast.digest import digest_of
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Floats, Levels
from scaler.extensions.forecast.quantiles import STEADY_START
from scaler.extensions.forecast.rules import ForecastRules, forecast_rules
from scaler.extensions.forecast.state import RELIABLE, Forecast, Outcomes, Sums, Verdict

LEARNED_MINUTES = 8 * MINUTES_PER_DAY


def rules_of(spec: dict[str, object]) -> ForecastRules:
    """Of an autoscaler with this spec, which must have a forecast."""
    decoded = msgspec.convert(spec, AutoscalerSpec)
    assert decoded.forecast is not None
    rules = forecast_rules(decoded, decoded.forecast)
    assert rules is not None
    return rules


def learned_digest(
    rules: ForecastRules, loads: Floats, end_minute: int, outcome: Sums, *, may_act: bool
) -> str:
    """Of these loads by the minute, the last of which is at `end_minute`; the outcome of each ten minutes was the same.

    A forecast that may not act has wasted too much.
    """
    state = Forecast(
        identity=rules.identity,
        lead_minutes=rules.lead_minutes,
        levels=Levels(values=loads, end_minute=end_minute),
        offset=max(0.1 * sum(loads) / len(loads), 1e-9),
        model=STEADY_START,
        shares=Shares(model=0.9999, days=0.0),
        outcomes=Outcomes(intervals=(outcome,) * (MINUTES_PER_DAY // 10)),
        verdict=Verdict(reason=RELIABLE if may_act else "TooMuchWaste", message="learned"),
    )
    return digest_of(state)
