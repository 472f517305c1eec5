"""PURE  The intended differences, each with the name of its row in docs/deviations.md and a predicate."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from testbed.differential.scaler.observed_state import Difference, ObservedEvent, aggregated
from testbed.differential.scaler.scenario_model import Scenario


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """`explains` says whether a difference is exactly this deviation; without `of_hpas`, for LoadAutoscalers only."""

    name: str
    explains: Callable[[Scenario, Difference], bool]
    of_hpas: bool = True


POD = re.compile(r"\bPod p[0-9]+")


def _names_another_pod(scenario: Scenario, difference: Difference) -> bool:
    """Only the name of the pod in the message differs, and there are several pods."""
    several = _has_several_pods(scenario)
    upstream, loadline = (
        _without_pod_names(each) for each in (difference.upstream, difference.loadline)
    )
    return several and upstream is not None and upstream == loadline


def _has_several_pods(scenario: Scenario) -> bool:
    return any(len(step.state.pods) > 1 for step in scenario.steps)


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


def _reports_lasting_failures_once(scenario: Scenario, difference: Difference) -> bool:
    """The same events, but a Warning less often: when its failure begins instead of at each reconcile."""
    if not difference.what.endswith(": events"):
        return False
    upstream, loadline = (
        _counts(events or [], scenario) for events in (difference.upstream, difference.loadline)
    )
    return upstream.keys() == loadline.keys() and all(
        1 <= loadline[event] <= count if event[0] == "Warning" else loadline[event] == count
        for event, count in upstream.items()
    )


def _counts(events: list[Any], scenario: Scenario) -> dict[tuple[str, str, str], int]:
    """By type, reason and message; which of several pods a message names does not matter."""
    if _has_several_pods(scenario):
        events = [tuple(map(_with_placeholder, event)) for event in events]
    merged = aggregated(ObservedEvent(*event) for event in events)
    return {(each.type, each.reason, each.message): each.count for each in merged}


def _is_left_by_a_user(_: Scenario, difference: Difference) -> bool:
    """A LoadAutoscaler that finds its target above zero no longer says that it has scaled it to zero."""
    if not difference.what.endswith(": condition ScaledToZero"):
        return False
    statuses = [(each or ("",))[0] for each in (difference.upstream, difference.loadline)]
    return statuses == ["True", "False"]


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(name="pods-in-order", explains=_names_another_pod),
    Deviation(name="lasting-failures", explains=_reports_lasting_failures_once, of_hpas=False),
    Deviation(name="users-zero", explains=_is_left_by_a_user, of_hpas=False),
)


def deviation_explaining(scenario: Scenario, difference: Difference, *, of_hpas: bool) -> str:
    """The name of the deviation that explains it, or an empty string. `of_hpas`: both sides scale HPAs."""
    for deviation in DEVIATIONS:
        if of_hpas and not deviation.of_hpas:
            continue
        if deviation.explains(scenario, difference):
            return deviation.name
    return ""
