"""What an autoscaling/v1 HPA has in annotations: metrics, behavior and tolerances.

kube-apiserver writes them for fields of autoscaling/v2 (`Convert_autoscaling_HorizontalPodAutoscaler_To_v1_HorizontalPodAutoscaler`).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kubectl_loadline.migration.conversion import Json, Remarks, without_nulls
from scaler.api.autoscaler import Behavior, MetricSpec
from wire.api.quantity import Quantity

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = f"{_PREFIX}metrics"
BEHAVIOR: Final = f"{_PREFIX}behavior"
TOLERANCES: Final = {
    "scaleDown": f"{_PREFIX}scale-down-tolerance",
    "scaleUp": f"{_PREFIX}scale-up-tolerance",
}

# encoding/json of Go ignores case, and the behavior is written from a type without names for JSON.
_BEHAVIOR_FIELDS: Final = {
    each.lower(): each
    for each in (
        "scaleUp", "scaleDown", "stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance", "type", "value", "periodSeconds",
    )
}  # fmt: skip


def read_annotations(annotations: Mapping[str, str], spec: Json, remarks: Remarks) -> None:
    """Add what they have to the spec of autoscaling/v2, whose metrics follow those of the annotation.

    Upstream ignores what it cannot read (`Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler`); here it is
    reported, too.
    """
    others = _read(annotations, METRICS, _metrics, remarks) or []
    if others:
        spec["metrics"] = [*others, *spec.get("metrics", ())]
    behavior: Json = {
        **(_read(annotations, BEHAVIOR, _behavior, remarks) or spec.get("behavior") or {})
    }
    for direction, name in TOLERANCES.items():
        tolerance = _read(annotations, name, _tolerance, remarks)
        if tolerance is not None:
            behavior[direction] = {"tolerance": tolerance, **behavior.get(direction, {})}
    if behavior:
        spec["behavior"] = behavior


def _read(
    annotations: Mapping[str, str], name: str, read: Callable[[str], Any], remarks: Remarks
) -> Any:
    if name not in annotations:
        return None
    try:
        return read(annotations[name])
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        msgspec.ValidationError,
    ):
        remarks.add(
            f"metadata.annotations[{name}]",
            "it cannot be read, so kube-apiserver ignores it; it is omitted",
        )
        return None


def _metrics(text: str) -> list[Json]:
    found = [_metric(without_nulls(each)) for each in json.loads(text) or ()]
    msgspec.convert(found, tuple[MetricSpec, ...])
    return found


def _metric(given: Json) -> Json:
    """`Convert_v1_MetricSpec_To_autoscaling_MetricSpec`."""
    sources = {
        "object": _object,
        "pods": _pods,
        "resource": _resource,
        "containerResource": _resource,
        "external": _external,
    }
    found = {
        name: read(given[name]) for name, read in sources.items() if given.get(name) is not None
    }
    return {"type": given["type"], **found}


def _object(given: Json) -> Json:
    average, value = given.get("averageValue"), given.get("targetValue", "0")
    target: Json = {"type": "Value", "value": value}
    if average is not None:
        # The field of v1 is required, so a zero stands for a value that is not set.
        beside = {} if str(value) == "0" else {"value": value}
        target = {"type": "AverageValue", **beside, "averageValue": average}
    return {"describedObject": given["target"], **_identified(given, "selector"), "target": target}


def _pods(given: Json) -> Json:
    target = {"type": "AverageValue", "averageValue": given["targetAverageValue"]}
    return {**_identified(given, "selector"), "target": target}


def _resource(given: Json) -> Json:
    utilization = given.get("targetAverageUtilization")
    target = {
        "type": "AverageValue" if utilization is None else "Utilization",
        "averageValue": given.get("targetAverageValue"),
        "averageUtilization": utilization,
    }
    container = {"container": given["container"]} if "container" in given else {}
    return {"name": given["name"], **container, "target": _present(target)}


def _external(given: Json) -> Json:
    value = given.get("targetValue")
    target = {
        "type": "AverageValue" if value is None else "Value",
        "value": value,
        "averageValue": given.get("targetAverageValue"),
    }
    return {**_identified(given, "metricSelector"), "target": _present(target)}


def _identified(given: Json, selector: str) -> Json:
    return {"metric": _present({"name": given["metricName"], "selector": given.get(selector)})}


def _present(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _behavior(text: str) -> Json:
    found: Json = _named(json.loads(text) or {})
    msgspec.convert(found, Behavior)
    return found


def _named(given: Any) -> Any:
    """The same with the names of autoscaling/v2."""
    if isinstance(given, list):
        return [_named(each) for each in given]
    if not isinstance(given, dict):
        return given
    named = {_BEHAVIOR_FIELDS[name.lower()]: _named(value) for name, value in given.items()}
    return _present(named)


def _tolerance(text: str) -> str:
    if Quantity.parse(text) < Quantity.from_int(0):
        raise ValueError(text)
    return text
