"""PURE  Differences that are kept on purpose, each by the name of its row in docs/deviations.md and by what exactly it allows."""

from collections.abc import Callable

import msgspec

from testbed.differential.scaler.seen import Difference
from testbed.differential.scaler.situation import Scenario


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """`explains` says whether a difference is this one and nothing else."""

    name: str
    explains: Callable[[Scenario, Difference], bool]


DEVIATIONS: tuple[Deviation, ...] = ()


def kept_on_purpose(scenario: Scenario, difference: Difference) -> str:
    """The name of the deviation that explains it, or nothing."""
    for deviation in DEVIATIONS:
        if deviation.explains(scenario, difference):
            return deviation.name
    return ""
