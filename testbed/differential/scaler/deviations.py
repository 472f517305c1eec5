"""PURE  Differences that are kept on purpose, each by the name of its row in docs/deviations.md and by what exactly it allows."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from testbed.differential.scaler.seen import Difference, SeenEvent, added_up
from testbed.differential.scaler.situation import Scenario


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """`explains` says whether a difference is this one and nothing else."""

    name: str
    explains: Callable[[Scenario, Difference], bool]


POD = re.compile(r"\bPod p[0-9]+")


def _names_another_pod(scenario: Scenario, difference: Difference) -> bool:
    """Nothing but which of several pods is named as the one that lacks something."""
    several = any(len(step.situation.pods) > 1 for step in scenario.steps)
    theirs, ours = (_of_any_pod(each) for each in (difference.theirs, difference.ours))
    return several and theirs is not None and theirs == ours


def _of_any_pod(value: object) -> object:
    """A condition or a list of events that names no pod; None for anything else."""
    match value:
        case tuple():
            return tuple(_unnamed(each) for each in value)
        case list():
            events = [each for each in value if isinstance(each, tuple)]
            if len(events) != len(value):
                return None
            return added_up(SeenEvent(*(_unnamed(field) for field in each)) for each in events)
    return None


def _unnamed(text: Any) -> Any:
    return POD.sub("Pod ANY", text) if isinstance(text, str) else text


DEVIATIONS: tuple[Deviation, ...] = (Deviation(name="pods-in-order", explains=_names_another_pod),)


def kept_on_purpose(scenario: Scenario, difference: Difference) -> str:
    """The name of the deviation that explains it, or nothing."""
    for deviation in DEVIATIONS:
        if deviation.explains(scenario, difference):
            return deviation.name
    return ""
