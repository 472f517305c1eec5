"""What a forecast is made from: what followed at this time on earlier days, and where the load is going now.

All are differences of logarithms, so that a load ten times as high is forecast alike. `offset` is added to a load
before its logarithm: without it, the noise of a load near zero would be larger than any change of a high one.
"""

import math
from collections.abc import Sequence

from scaler.extensions.forecast.load_levels import Levels
from scaler.extensions.forecast.state import Features

COMPARED_DAYS = (1, 2, 7)
# A day with so much more or less load at this time says nothing about today: a holiday, an outage, another metric.
UNLIKE_FACTOR = 1.65
_UNLIKE = math.log(UNLIKE_FACTOR)
COMPARED_MINUTES = 30
"""A shorter time would mistake a noisy load for another level."""
LIMIT = 1.0


def smoothed(levels: Levels, minute: int, offset: float) -> float | None:
    """The logarithm of the load of the five minutes until then."""
    mean = levels.mean_until(minute)
    return None if mean is None else math.log(mean + offset)


def rise(levels: Levels, minute: int, lead: int, offset: float) -> float | None:
    """How far the peak of the next `lead` minutes is above the present load: this is what is forecast."""
    peak, now = levels.peak_after(minute, lead), levels.mean_until(minute)
    if peak is None or now is None:
        return None
    return math.log((peak + offset) / (now + offset))


def is_unusual(levels: Levels, minute: int, offset: float, lags: Sequence[int]) -> bool:
    """Whether the load of the last half hour is unlike that of the same half hour of each known earlier day."""
    now = levels.mean_of(minute, COMPARED_MINUTES)
    days = [levels.mean_of(minute - lags[day - 1], COMPARED_MINUTES) for day in COMPARED_DAYS]
    known = [each for each in days if each is not None]
    if now is None or not known:
        return False
    level = math.log(now + offset)
    return all(abs(math.log(each + offset) - level) > _UNLIKE for each in known)


def seen(
    levels: Levels, minute: int, lead: int, offset: float, lags: Sequence[int]
) -> Features | None:
    """`lags`: how many minutes ago it was this time one day ago, two days ago, and so on.

    None if the present load, or every earlier day, is unknown. A day unlike the present counts as another one that is like it.
    """
    now, last = smoothed(levels, minute, offset), levels.at(minute)
    if now is None or last is None:
        return None
    days = [_day(levels, minute - lags[day - 1], lead, offset, now) for day in COMPARED_DAYS]
    if all(each is None for each in days):
        return None
    alike = [each for each in days if each is not None and abs(each[1]) <= _UNLIKE]
    instead = alike[0] if alike else (0.0, 0.0)
    found = [1.0]
    for day in days:
        found.extend(day if day is not None and day in alike else instead)
    before, earlier = (smoothed(levels, minute - n * lead, offset) for n in (1, 4))
    found.append(0.0 if before is None else now - before)
    found.append(0.0 if earlier is None else now - earlier)
    found.append(math.log(last + offset) - now)
    return tuple([limited(each) for each in found])


def limited(difference: float) -> float:
    """One jump must not weigh more than days of ordinary changes."""
    return max(-LIMIT, min(difference, LIMIT))


def _day(
    levels: Levels, minute: int, lead: int, offset: float, now: float
) -> tuple[float, float] | None:
    """What followed on an earlier day, and how far that day was above today."""
    followed = rise(levels, minute, lead, offset)
    then = smoothed(levels, minute, offset)
    return None if followed is None or then is None else (followed, then - now)
