"""What a forecast is made from: the last minutes, hours and day, and what followed at this time on earlier days.

All are logarithms, relative to the mean of the last five minutes, so that a load ten times as high is forecast alike. `offset` is
added to a load before its logarithm: without it, the noise of a load near zero would be larger than any change of a high one.
"""

import math
from array import array
from collections.abc import Callable, Sequence

from scaler.extensions.forecast.load_levels import Floats, Levels

DAYS = 7
# Of which the highest load and the mean are features; of the second ones, the lowest load is another one.
RECENT_MINUTES = (10, 30, 60, 120, 360, 1440)
LOWEST_MINUTES = (10, 60)
NEWEST_MINUTES = 3
COMPARED_DAYS = (1, 2, 7)
# A jump does not come at the same minute of each day.
NEAR_MINUTES = 5
PLACES = 4
FEATURES = (
    1
    + NEWEST_MINUTES
    + 2 * len(RECENT_MINUTES)
    + len(LOWEST_MINUTES)
    + 2 * len(COMPARED_DAYS)
    + 2 * PLACES
)
THIRD_HIGHEST_DAY = FEATURES - PLACES + 2
"""Where the third highest load of the seven days, exactly at this time, is: a jump that occurred on most days."""
HIGHEST_OF_DAY = NEWEST_MINUTES + 2 * len(RECENT_MINUTES) + len(LOWEST_MINUTES) - 1
_CONSTANT = 0.5
OFFSET_MIN = 1e-9
LIMIT = 4.0


def smoothed(levels: Levels, minute: int, offset: float) -> float | None:
    """The logarithm of the load of the five minutes until then."""
    mean = levels.mean_until(minute)
    return None if mean is None else math.log(mean + offset)


def rise(levels: Levels, minute: int, lead: int, offset: float) -> float | None:
    """How far the peak of the next `lead` minutes is above the present load: this is what is forecast."""
    peak, present = levels.peak_after(minute, lead), smoothed(levels, minute, offset)
    if peak is None or present is None:
        return None
    return limited(math.log(peak + offset) - present)


def seen(
    levels: Levels, minute: int, lead: int, offset: float, lags: Sequence[int]
) -> Floats | None:
    """`lags`: how many minutes ago it was this time one day ago, two days ago, and so on. None if the present load is unknown.

    What is not known counts as the present load.
    """
    present = smoothed(levels, minute, offset)
    if present is None:
        return None

    def relative(load: float | None) -> float:
        return 0.0 if load is None else limited(math.log(load + offset) - present)

    found = [_CONSTANT]
    found += [relative(levels.at(minute - age)) for age in range(NEWEST_MINUTES)]
    for minutes, window in zip(
        RECENT_MINUTES, levels.windows_until(minute, RECENT_MINUTES), strict=True
    ):
        if window is not None:
            found += (relative(window.highest), relative(window.mean))
            if minutes in LOWEST_MINUTES:
                found.append(relative(levels.lowest_until(minute, minutes)))
    found += _days(levels, minute, lead, lags, relative)
    return array("f", found)


def _days(
    levels: Levels,
    minute: int,
    lead: int,
    lags: Sequence[int],
    relative: Callable[[float | None], float],
) -> list[float]:
    """What followed on some earlier days and where it began, then the highest of all days, near this time and exactly then."""
    near, exact = (
        [
            levels.highest(minute - lag + 1 - around, minute - lag + lead + around)
            for lag in lags[:DAYS]
        ]
        for around in (NEAR_MINUTES, 0)
    )
    found: list[float] = []
    for day in COMPARED_DAYS:
        then = minute - lags[day - 1]
        began = levels.mean_until(then)
        begin = relative(began)
        found += (0.0 if began is None else limited(relative(exact[day - 1]) - begin), begin)
    for of_days in (near, exact):
        highest = sorted([each for each in of_days if each is not None], reverse=True)
        places = [relative(each) for each in highest[:PLACES]]
        found += [*places, *[0.0] * (PLACES - len(places))]
    return found


def limited(difference: float) -> float:
    """Within the limits: one jump must not weigh more than days of ordinary changes."""
    if difference > LIMIT:
        return LIMIT
    if difference < -LIMIT:
        return -LIMIT
    return difference
