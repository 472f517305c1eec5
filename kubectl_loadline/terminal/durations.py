"""How long something is, as people say it."""

from typing import Final

_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"))


def in_words(seconds: float) -> str:
    """In the largest unit of which it has exactly one, or at least two: `1 h`, `65 min`, `7 d`."""
    fitting = (each for each in _UNITS if seconds == each[0] or seconds >= 2 * each[0])
    size, unit = next(fitting, (1, "s"))
    return f"{seconds / size:.3g} {unit}"
