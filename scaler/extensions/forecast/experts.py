"""What each expert expects as the highest load of the lead, from the load alone. Simple rules, each right on another kind of load.

learned         the ridge regression of `scaler.extensions.forecast.regression`
recent         the highest load of the last half hour, or two hours: bursts that return soon
days           the highest, second and third highest of the last seven days, a few minutes around this time: jumps at a
               time of the day, and spikes that drift. The second highest has been there on two days
days, exact    the third highest of the seven days, exactly at this time
"""

from collections.abc import Sequence

from scaler.extensions.forecast.load_levels import Levels

DAYS = 7
RECENT_MINUTES = (30, 120)
WIDE_MINUTES, NEAR_MINUTES = 10, 5
LEARNED, RECENT, DAYS_NEAR = (0,), (1, 2), (3, 4, 5, 6)
EXPERTS = len(LEARNED + RECENT + DAYS_NEAR)

Loads = tuple[float | None, ...]


def expected(
    levels: Levels, minute: int, lead: int, lags: Sequence[int], learned: float | None
) -> Loads:
    """By expert; None if it knows nothing. `lags`: how many minutes ago it was this time one day ago, two days ago, and so on."""
    recent = [levels.highest(minute - minutes, minute) for minutes in RECENT_MINUTES]
    wide, near, exact = (
        _by_day(levels, minute, lead, lags, around) for around in (WIDE_MINUTES, NEAR_MINUTES, 0)
    )
    return (learned, *recent, _nth(wide, 1), _nth(near, 2), _nth(near, 3), _nth(exact, 3))


def _by_day(
    levels: Levels, minute: int, lead: int, lags: Sequence[int], around: int
) -> list[float]:
    """The highest load around the lead of each of the last seven days that is known, the highest day first."""
    found = [
        levels.highest(minute - lag - around, minute - lag + lead + around) for lag in lags[:DAYS]
    ]
    return sorted([each for each in found if each is not None], reverse=True)


def _nth(highest_first: list[float], place: int) -> float | None:
    return highest_first[place - 1] if len(highest_first) >= place else None
