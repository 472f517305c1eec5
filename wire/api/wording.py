"""Lists of names in sentences."""

from collections.abc import Sequence

SHOWN_MAX = 5


def some(names: Sequence[str], shown_max: int = SHOWN_MAX) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:shown_max])
    more = len(names) - shown_max
    return f"{shown} and {more} more" if more > 0 else shown
