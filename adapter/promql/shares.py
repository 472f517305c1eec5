"""The places for discovered metrics, divided among the rules: a rule with too many metrics takes no place from the others."""

from collections.abc import Sequence
from typing import Final

CHARACTERS: Final = 64
"""Of a name in one place. Most names of series have fewer."""


def places(metric: str) -> int:
    """What a metric of one resource takes."""
    return max(1, -(-len(metric) // CHARACTERS))


def shares(counts: Sequence[int], total: int) -> list[int]:
    """Of `total` places, how many each of those gets that need so many (max-min fairness).

    Each gets what it needs, up to an equal share; what the small ones leave is shared by the large ones.
    """
    given = [0] * len(counts)
    left = total
    for number, index in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        given[index] = min(counts[index], left // (len(counts) - number))
        left -= given[index]
    return given
