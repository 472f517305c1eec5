"""Lists of names in sentences."""

from collections.abc import Sequence

SHOWN_MAX = 5


def some(names: Sequence[str], at_most: int = SHOWN_MAX) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:at_most])
    more = len(names) - at_most
    return f"{shown} and {more} more" if more > 0 else shown
