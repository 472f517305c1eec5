"""Leave one load out: for each load, the knob is the one that is best on all others.

A default that was chosen on the loads on which it is reported seems better than it is. The rule: of the knobs with which
no load is worse than the HPA at equal replica-hours by more than 1%, the one with the lowest median; if there is none, the
one whose worst load is the least bad.
"""

import statistics
from collections.abc import Mapping, Sequence

import msgspec

WORSE_PERCENT_MAX = 1.0

Changes = Mapping[str, Sequence[float]]
"""Of one load, by knob: the changes of the time short in percent, one for each start-up time."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """The knob that the other loads choose, and what it does on this one."""

    load: str
    knob: str
    changes: tuple[float, ...]


def chosen(of_loads: Sequence[Changes]) -> str:
    """By the rule of this module. Raises ValueError without a knob that all loads have."""
    knobs = [each for each in of_loads[0] if all(each in changes for changes in of_loads)]
    if not knobs:
        raise ValueError("the loads have no knob in common")

    def rank(knob: str) -> tuple[float, float]:
        changes = [each for of_load in of_loads for each in of_load[knob]]
        worst = max(changes)
        return (0.0 if worst <= WORSE_PERCENT_MAX else worst), statistics.median(changes)

    return min(knobs, key=rank)


def left_out(of_loads: Mapping[str, Changes]) -> list[LeftOut]:
    """Of each load. Empty for a single one."""
    found = []
    for load, changes in of_loads.items():
        others = [each for name, each in of_loads.items() if name != load]
        if others:
            knob = chosen(others)
            found.append(LeftOut(load=load, knob=knob, changes=tuple(changes[knob])))
    return found
