"""PURE  The intended differences, each with the name of its row in docs/deviations.md and a predicate."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from testbed.differential.scaler.observed_state import Difference, ObservedEvent, aggregated
from testbed.differential.scaler.scenario_model import Scenario


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """`explains` says whether a difference is exactly this deviation."""

    name: str
    explains: Callable[[Scenario, Difference], bool]


POD = re.compile(r"\bPod p[0-9]+")


def _names_another_pod(scenario: Scenario, difference: Difference) -> bool:
    """Only the name of the pod in the message differs, and there are several pods."""
    several = any(len(step.state.pods) > 1 for step in scenario.steps)
    upstream, loadline = (
        _without_pod_names(each) for each in (difference.upstream, difference.loadline)
    )
    return several and upstream is not None and upstream == loadline


def _without_pod_names(value: object) -> object:
    """A condition or a list of events with a placeholder for pod names; None for anything else."""
    match value:
        case tuple():
            return tuple(_with_placeholder(each) for each in value)
        case list():
            events = [each for each in value if isinstance(each, tuple)]
            if len(events) != len(value):
                return None
            return aggregated(
                ObservedEvent(*(_with_placeholder(field) for field in each)) for each in events
            )
    return None


def _with_placeholder(text: Any) -> Any:
    return POD.sub("Pod ANY", text) if isinstance(text, str) else text


DEVIATIONS: tuple[Deviation, ...] = (Deviation(name="pods-in-order", explains=_names_another_pod),)


def deviation_explaining(scenario: Scenario, difference: Difference) -> str:
    """The name of the deviation that explains it, or an empty string."""
    for deviation in DEVIATIONS:
        if deviation.explains(scenario, difference):
            return deviation.name
    return ""
