"""PURE  What a side shows after a step, reduced to what must be equal on both sides, and the differences."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class ObservedEvent(msgspec.Struct, frozen=True):
    """An event; `count` is 0 where reconciles are not counted."""

    type: str
    reason: str
    message: str
    count: int


class ObservedState(msgspec.Struct, frozen=True, kw_only=True):
    """The observed state of one autoscaler."""

    replicas: int
    scale_writes: tuple[int, ...]
    status: Mapping[str, Any]
    events: tuple[ObservedEvent, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs between the two sides."""

    scenario: str
    step: str  # step.reconcile, from 1
    what: str
    upstream: Any
    loadline: Any

    def __str__(self) -> str:
        where = f"{self.scenario}, step {self.step}: {self.what}"
        return f"{where}\n    upstream: {_printed(self.upstream)}\n    loadline: {_printed(self.loadline)}"


NAMESPACE = "NAMESPACE"
# Either kind's resource name becomes the same word.
KIND_PLACEHOLDERS = (
    ("loadautoscalers.loadline.io", "AUTOSCALERS"),
    ("horizontalpodautoscalers.autoscaling", "AUTOSCALERS"),
)
CONTROLLERS = re.compile(
    r"(are controlled by (?:multiple HPAs: |more than one HPA \(e\.g\. ))\[([^]]*)\]"
)


def neutral(text: str, namespace: str) -> str:
    """Replace the names that necessarily differ between the sides."""
    text = text.replace(namespace, NAMESPACE)
    for resource, placeholder in KIND_PLACEHOLDERS:
        text = text.replace(resource, placeholder)
    return CONTROLLERS.sub(_sorted_controllers, text)


def _sorted_controllers(found: re.Match[str]) -> str:
    """Upstream lists them in the random order of a Go map."""
    return f"{found[1]}[{' '.join(sorted(found[2].split()))}]"


def aggregated(events: Iterable[ObservedEvent]) -> tuple[ObservedEvent, ...]:
    """Merge events that are equal once names are replaced."""
    counts: dict[tuple[str, str, str], int] = {}
    for each in events:
        key = (each.type, each.reason, each.message)
        counts[key] = counts.get(key, 0) + each.count
    return tuple(ObservedEvent(*key, count) for key, count in counts.items())


def flattened(observed: Mapping[str, ObservedState], requests: set[str] | None) -> dict[str, Any]:
    """All values by their names in a report."""
    flat: dict[str, Any] = {}
    for name, each in observed.items():
        flat |= {f"{name}: {what}": value for what, value in _of_one(each).items()}
    if requests is not None:
        flat["requests to the metrics APIs"] = sorted(requests)
    return flat


def _of_one(observed: ObservedState) -> dict[str, Any]:
    status = observed.status
    conditions = status.get("conditions") or []
    flat: dict[str, Any] = {
        "replicas": observed.replicas,
        "writes of the scale": observed.scale_writes,
        "currentReplicas": status.get("currentReplicas", 0),
        "desiredReplicas": status.get("desiredReplicas", 0),
        "observedGeneration": status.get("observedGeneration"),
        "has lastScaleTime": status.get("lastScaleTime") is not None,
        "currentMetrics": status.get("currentMetrics") or [],
        "order of conditions": [each["type"] for each in conditions],
        "events": [tuple(msgspec.structs.astuple(each)) for each in observed.events],
    }
    for each in conditions:
        fields = (each["status"], each.get("reason", ""), each.get("message", ""))
        flat[f"condition {each['type']}"] = fields
    return flat


def differences(
    scenario: str, step: str, upstream: Mapping[str, Any], loadline: Mapping[str, Any]
) -> list[Difference]:
    """The differences of two flattened states."""
    names = dict.fromkeys((*upstream, *loadline))
    return [
        Difference(
            scenario=scenario,
            step=step,
            what=name,
            upstream=upstream.get(name),
            loadline=loadline.get(name),
        )
        for name in names
        if upstream.get(name) != loadline.get(name)
    ]


def _printed(value: Any) -> str:
    if isinstance(value, list) and len(value) > 1:
        return "".join(f"\n        {each}" for each in value)
    return str(value)
