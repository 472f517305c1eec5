"""What followed at this time on most of the last days: a jump each morning, or a batch that starts on the hour.

A model that learns from each minute alike meets a jump of a few minutes a day only after weeks, and expects it all day if it does not
come. Here each day counts once. A rise counts only if that day did not begin higher than this one: otherwise it was over by then.
"""

from collections.abc import Sequence

from scaler.extensions.forecast.features import DAYS
from scaler.extensions.forecast.load_levels import Levels

# How much earlier or later a jump may come.
NEAR_MINUTES = 2
# Batches of each hour of those days that did not come in the last hours of this one will not come next.
BEFORE_MINUTES = 120
# How much higher a load is still about as high.
HIGHER_RATIO = 1.3
DAYS_MIN = 2


def on_most_days(
    levels: Levels, minute: int, lead: int, offset: float, lags: Sequence[int]
) -> float | None:
    """The load that was reached within the lead on more than half of the days that count; None for fewer than two of them.

    Where a day began higher than this one, it is as much less. What is not known was not higher. `offset` and `lags` are as for `features.seen`.
    """
    present = levels.mean_until(minute)
    if present is None:
        return None
    hours = _hours_before(levels, minute)
    peaks = []
    for lag in lags[:DAYS]:
        then = minute - lag
        peak = levels.highest(then + 1 - NEAR_MINUTES, then + lead + NEAR_MINUTES)
        if peak is None:
            continue
        if peak > present:
            ratio = _ratio(present, levels.mean_until(then - NEAR_MINUTES), offset)
            ratio_of_hours = _ratio(hours, _hours_before(levels, then), offset)
            if min(ratio, ratio_of_hours) * HIGHER_RATIO < 1.0:
                continue
            peak *= min(1.0, ratio)
        peaks.append(peak)
    if len(peaks) < DAYS_MIN:
        return None
    return sorted(peaks, reverse=True)[len(peaks) // 2]


def _hours_before(levels: Levels, minute: int) -> float | None:
    """The mean load of the last hours until then; None if they are not known from their beginning."""
    if levels.at(minute - BEFORE_MINUTES + 1) is None:
        return None
    return levels.mean_until(minute, BEFORE_MINUTES)


def _ratio(present: float | None, then: float | None, offset: float) -> float:
    if present is None or then is None:
        return 1.0
    return (present + offset) / (then + offset)
