"""PURE  The intended differences, each with the name of its row in docs/deviations.md and a predicate."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from scaler.api.upstream import NEWEST, Upstream
from testbed.differential.scaler.observed_state import Difference, ObservedEvent, aggregated
from testbed.differential.scaler.scenario_model import Scenario


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """`explains` says whether a difference is exactly this deviation; without `of_hpas`, for LoadAutoscalers only."""

    name: str
    explains: Callable[[Scenario, Difference], bool]
    of_hpas: bool = True


POD = re.compile(r"\bPod p[0-9]+")
PAIR = re.compile(r"(?<=more than one HPA \(e\.g\. )\[\S+ \S+\]")
OLDER_TEXTS = (
    (
        re.compile(
            r"unable to get metric (?P<metric>\S+): (?P<kind>\S+) on (?P<namespace>\S+) (?P<name>[^/\s]+)/(?P<cause>.*)"
        ),
        r"unable to get metric \g<metric> on \g<kind> \g<namespace>/\g<name>: \g<cause>",
    ),
    (
        re.compile(r"are controlled by multiple HPAs: \[(?P<pair>\S+ \S+)[^]]*\]"),
        r"are controlled by more than one HPA (e.g. [\g<pair>])",
    ),
)
"""Patterns of texts of versions before 1.37, and what the newest version says."""


def _names_another_pod(scenario: Scenario, difference: Difference) -> bool:
    """Only the name of the pod in the message differs, and there are several pods."""
    return _has_several_pods(scenario) and _are_equal_but_for(POD, difference)


def _names_another_pair(scenario: Scenario, difference: Difference) -> bool:
    """Only which two autoscalers the message names differs, and there are more."""
    several = any(len(step.state.autoscalers) > 2 for step in scenario.steps)
    return several and _are_equal_but_for(PAIR, difference)


def _has_several_pods(scenario: Scenario) -> bool:
    return any(len(step.state.pods) > 1 for step in scenario.steps)


def _are_equal_but_for(names: re.Pattern[str], difference: Difference) -> bool:
    upstream, loadline = (
        _with_texts(each, lambda text: names.sub("ANY", text))
        for each in (difference.upstream, difference.loadline)
    )
    return upstream is not None and upstream == loadline


def _with_texts(value: object, changed: Callable[[str], str]) -> object:
    """A condition or a list of events with other texts; None for anything else."""

    def field(found: Any) -> Any:
        return changed(found) if isinstance(found, str) else found

    match value:
        case tuple():
            return tuple(map(field, value))
        case list():
            if any(not isinstance(each, tuple) for each in value):
                return None
            return [
                msgspec.structs.astuple(each)
                for each in aggregated(ObservedEvent(*map(field, each)) for each in value)
            ]
    return None


def _is_newest_text(_: Scenario, difference: Difference) -> bool:
    """The same in the words of the newest version."""
    return bool(_in_newest_words(difference.upstream) == difference.loadline)


def _in_newest_words(value: object) -> object:
    """A condition or a list of events of an older version; anything else stays as it is."""

    def translated(text: str) -> str:
        for pattern, newest in OLDER_TEXTS:
            text = pattern.sub(newest, text)
        return text

    found = _with_texts(value, translated)
    return value if found is None else found


def _is_of_an_unmarked_zero(scenario: Scenario, difference: Difference) -> bool:
    """In 1.35 nothing says who has set a zero: `minReplicas` alone decides whether it ends."""
    found = [each for step in scenario.steps for each in step.state.autoscalers]
    minimums = {each.spec.get("minReplicas", 1) for each in found}
    by_a_user = any(each.scale.replicas == 0 for each in found)
    if 0 in minimums and (by_a_user or len(minimums) > 1):
        return True
    if difference.what.endswith(": condition ScaledToZero"):
        return difference.upstream is None
    if difference.what.endswith(": order of conditions"):
        others = [each for each in difference.loadline or () if each != "ScaledToZero"]
        return others == list(difference.upstream or ())
    return False


def _is_of_a_generation(_: Scenario, difference: Difference) -> bool:
    """A LoadAutoscaler says which generation it has seen where the HPA controller says none, or still an earlier one."""
    if not difference.what.endswith(": observedGeneration") or difference.loadline is None:
        return False
    return difference.upstream is None or bool(difference.upstream < difference.loadline)


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
        found = _with_texts(events, lambda text: POD.sub("ANY", text))
        events = found if isinstance(found, list) else []
    merged = aggregated(ObservedEvent(*event) for event in events)
    return {(each.type, each.reason, each.message): each.count for each in merged}


def _is_left_by_a_user(_: Scenario, difference: Difference) -> bool:
    """A LoadAutoscaler that finds its target above zero no longer says that it has scaled it to zero."""
    if not difference.what.endswith(": condition ScaledToZero"):
        return False
    statuses = [(each or ("",))[0] for each in (difference.upstream, difference.loadline)]
    return statuses == ["True", "False"]


def _has_succeeded_pods(scenario: Scenario, _: Difference) -> bool:
    """Anything may follow from the average over other pods. HPAs are compared in these scenarios, too."""
    return any(pod.phase == "Succeeded" for step in scenario.steps for pod in step.state.pods)


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(name="pods-in-order", explains=_names_another_pod),
    Deviation(name="ambiguous-names", explains=_names_another_pair),
    Deviation(name="lasting-failures", explains=_reports_lasting_failures_once, of_hpas=False),
    Deviation(name="users-zero", explains=_is_left_by_a_user, of_hpas=False),
    Deviation(name="observed-generation", explains=_is_of_a_generation, of_hpas=False),
    Deviation(name="succeeded-pods", explains=_has_succeeded_pods, of_hpas=False),
)
NEWEST_VERSION = Deviation(name="newest-version", explains=_is_newest_text, of_hpas=False)
"""Beside an older HPA controller."""


def deviation_explaining(
    scenario: Scenario, difference: Difference, upstream: Upstream, *, of_hpas: bool
) -> str:
    """The name of the deviation that explains it, or an empty string.

    `upstream` is the HPA controller that was compared, `of_hpas` whether both sides scale HPAs.
    """
    if upstream is not NEWEST and not of_hpas:
        if NEWEST_VERSION.explains(scenario, difference):
            return NEWEST_VERSION.name
        if not upstream.marks_zero and _is_of_an_unmarked_zero(scenario, difference):
            return NEWEST_VERSION.name
        difference = msgspec.structs.replace(
            difference, upstream=_in_newest_words(difference.upstream)
        )
    for deviation in DEVIATIONS:
        if of_hpas and not deviation.of_hpas:
            continue
        if deviation.explains(scenario, difference):
            return deviation.name
    return ""
