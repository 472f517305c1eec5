"""One more minute of load. Gaps of up to half an hour are filled linearly: some loads have no more values, and those of each half hour may be 31 minutes apart."""

from array import array

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, MISSING, Levels

# A week before yesterday, with the windows around it.
KEPT_MINUTES = 8 * MINUTES_PER_DAY + 60
FILLED_MINUTES_MAX = 31


def appended(levels: Levels, minute: int, value: float) -> Levels:
    """With the value of one more minute. A minute that is not newer than the last one changes nothing."""
    if not levels.values:
        return Levels(values=array("f", (value,)), end_minute=minute)
    ahead = minute - levels.end_minute
    if ahead <= 0:
        return levels
    values = levels.values[max(0, len(levels.values) + ahead - KEPT_MINUTES) :]
    if ahead > KEPT_MINUTES:
        return Levels(values=array("f", (value,)), end_minute=minute)
    last = levels.values[-1]
    if ahead > FILLED_MINUTES_MAX or last < 0.0:
        values.extend([MISSING] * (ahead - 1))
    else:
        values.extend(last + (value - last) * step / ahead for step in range(1, ahead))
    values.append(value)
    return Levels(values=values, end_minute=minute)
