"""Whether a forecast is worth it, on the last third of the time, which no choice has seen.

More replicas are always short less often. So it is compared with the frontier of the same autoscaler without a forecast: the
replica-hours and the time short of several targets. It must be below that frontier, at as many replica-hours.
"""

from collections.abc import Sequence

import msgspec

from kubectl_loadline.backtest.hull import lower_hull, short_at
from kubectl_loadline.backtest.score import Score

WORTH_SHARE_MAX = 0.9
"""Of the time short of another target that costs as much."""
WORTH_MINUTES_MIN = 5
"""Less time than that may be chance."""


class ForecastWorth(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The scores with and without the forecast, and how long another target is short that costs as much as the forecast.

    `short_percent_at_equal_cost`: None if the forecast costs less than each of the targets. `is_proposed`: whether it is worth it,
    and also better by the rule of the other choices.
    """

    score: Score
    without: Score
    short_percent_at_equal_cost: float | None
    is_proposed: bool


def worth_of(
    score: Score, without: Score, targets: Sequence[Score], *, is_better: bool
) -> ForecastWorth:
    """`targets`: the scores of several targets without a forecast. `is_better`: by the rule of the other choices."""
    hull = lower_hull((each.replica_hours, each.under_timeshare) for each in targets)
    at_equal_cost = short_at(hull, score.replica_hours)
    return ForecastWorth(
        score=score,
        without=without,
        short_percent_at_equal_cost=at_equal_cost,
        is_proposed=is_better and (at_equal_cost is None or _is_below(score, at_equal_cost)),
    )


def _is_below(score: Score, at_equal_cost: float) -> bool:
    less_percent = at_equal_cost - score.under_timeshare
    less_minutes = less_percent / 100 * score.scored_hours * 60
    is_less = score.under_timeshare < WORTH_SHARE_MAX * at_equal_cost
    return is_less and less_minutes >= WORTH_MINUTES_MIN
