"""PURE  What a side shows after a step, reduced to what both sides must agree on, and how two differ."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class SeenEvent(msgspec.Struct, frozen=True):
    """An event; `count` is 0 where nobody counted the looks."""

    type: str
    reason: str
    message: str
    count: int


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One autoscaler."""

    replicas: int
    scale_writes: tuple[int, ...]
    status: Mapping[str, Any]
    events: tuple[SeenEvent, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the two sides do not agree on."""

    scenario: str
    step: str  # step.look, from 1
    what: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        where = f"{self.scenario}, step {self.step}: {self.what}"
        return f"{where}\n    theirs: {_printed(self.theirs)}\n    ours:   {_printed(self.ours)}"


NAMESPACE = "NAMESPACE"
# The same thing by the name that each kind has in the API.
KIND_WORDS = (
    ("loadautoscalers.loadline.io", "AUTOSCALERS"),
    ("horizontalpodautoscalers.autoscaling", "AUTOSCALERS"),
)
CONTROLLERS = re.compile(r"(are controlled by multiple HPAs: )\[([^]]*)\]")


def neutral(text: str, namespace: str) -> str:
    """Without the names that cannot be the same on both sides."""
    text = text.replace(namespace, NAMESPACE)
    for word, stand_in in KIND_WORDS:
        text = text.replace(word, stand_in)
    return CONTROLLERS.sub(_sorted_controllers, text)


def _sorted_controllers(found: re.Match[str]) -> str:
    """Theirs come out of a Go map, in any order."""
    return f"{found[1]}[{' '.join(sorted(found[2].split()))}]"


def added_up(events: Iterable[SeenEvent]) -> tuple[SeenEvent, ...]:
    """Events that say the same once their words are neutral, as one."""
    counts: dict[tuple[str, str, str], int] = {}
    for each in events:
        said = (each.type, each.reason, each.message)
        counts[said] = counts.get(said, 0) + each.count
    return tuple(SeenEvent(*said, count) for said, count in counts.items())


def flattened(seen: Mapping[str, Seen], questions: set[str] | None) -> dict[str, Any]:
    """By what it is called in a report."""
    flat: dict[str, Any] = {}
    for name, each in seen.items():
        flat |= {f"{name}: {what}": value for what, value in _of_one(each).items()}
    if questions is not None:
        flat["questions to the metrics APIs"] = sorted(questions)
    return flat


def _of_one(seen: Seen) -> dict[str, Any]:
    status = seen.status
    conditions = status.get("conditions") or []
    flat: dict[str, Any] = {
        "replicas": seen.replicas,
        "writes of the scale": seen.scale_writes,
        "currentReplicas": status.get("currentReplicas", 0),
        "desiredReplicas": status.get("desiredReplicas", 0),
        "has lastScaleTime": status.get("lastScaleTime") is not None,
        "currentMetrics": status.get("currentMetrics") or [],
        "order of conditions": [each["type"] for each in conditions],
        "events": [tuple(msgspec.structs.astuple(each)) for each in seen.events],
    }
    for each in conditions:
        fields = (each["status"], each.get("reason", ""), each.get("message", ""))
        flat[f"condition {each['type']}"] = fields
    return flat


def differences(
    scenario: str, step: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]
) -> list[Difference]:
    """Of two flattened views."""
    names = dict.fromkeys((*theirs, *ours))
    return [
        Difference(
            scenario=scenario, step=step, what=name, theirs=theirs.get(name), ours=ours.get(name)
        )
        for name in names
        if theirs.get(name) != ours.get(name)
    ]


def _printed(value: Any) -> str:
    if isinstance(value, list) and len(value) > 1:
        return "".join(f"\n        {each}" for each in value)
    return str(value)
