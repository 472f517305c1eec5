"""A HorizontalPodAutoscaler (autoscaling/v1, v2beta2, v2) to a LoadAutoscaler: the same spec."""

from collections.abc import Mapping
from typing import Any

from kubectl_loadline.migration.conversion import (
    Converted,
    Json,
    Remarks,
    Unconvertible,
    load_autoscaler,
    name_of,
    read_as,
    without_nulls,
)
from kubectl_loadline.migration.hpa_annotations import read_annotations
from scaler.api.autoscaler import Autoscaler

VERSIONS = ("autoscaling/v1", "autoscaling/v2beta2", "autoscaling/v2")
_FIELDS = {"scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior"}
_SOURCES = {"object", "pods", "resource", "containerResource", "external"}


def from_hpa(source: Mapping[str, Any], *, dry_run: bool) -> Converted:
    """`dry_run` sets `mode: DryRun`, so that it can run beside the original. Raises `Unconvertible`."""
    hpa = without_nulls(source)
    original = name_of(hpa)
    version = hpa.get("apiVersion")
    if version not in VERSIONS:
        raise Unconvertible(
            f"{original}: apiVersion {version} is not one of {', '.join(VERSIONS)}. Read it from the "
            "cluster: kubectl get hpa.v2.autoscaling -o yaml"
        )
    remarks = Remarks(original)
    _check(hpa, remarks)
    given = dict(hpa["spec"])
    if version == "autoscaling/v1":
        _read_v1(given, remarks)
    if version != "autoscaling/v2":
        annotations = (hpa.get("metadata") or {}).get("annotations") or {}
        read_annotations(annotations, given, remarks)
    can_start = any(each["type"] in ("Object", "External") for each in given.get("metrics", ()))
    if given.get("minReplicas") == 0 and not can_start:
        raise remarks.unconvertible(
            "spec.minReplicas", "0 needs a metric of type Object or External"
        )
    spec: Json = {"mode": "DryRun"} if dry_run else {}
    spec |= {name: value for name, value in given.items() if name in _FIELDS}
    if spec.get("metrics"):
        spec["metrics"] = [_as_requested(each) for each in spec["metrics"]]
    for name in sorted(given.keys() - _FIELDS):
        remarks.add(f"spec.{name}", "a LoadAutoscaler does not have this field; it is omitted")
    return Converted(
        autoscaler=load_autoscaler(hpa, spec, remarks),
        remarks=tuple(remarks.found),
    )


def _check(hpa: Mapping[str, Any], remarks: Remarks) -> None:
    """Raises `Unconvertible` for what no API server accepts."""
    if not read_as(hpa, Autoscaler).metadata.name:
        raise remarks.unconvertible("metadata.name", "it is missing")
    remarks.bounds(hpa["spec"], "minReplicas", "maxReplicas", defaults=(1, 1))
    for index, metric in enumerate(hpa["spec"].get("metrics", ())):
        for name in _SOURCES & metric.keys():
            _check_target(f"spec.metrics[{index}].{name}.target", metric[name]["target"], remarks)


def _check_target(field: str, target: Json, remarks: Remarks) -> None:
    if "averageUtilization" in target:
        remarks.integer(f"{field}.averageUtilization", target["averageUtilization"], least=1)
    for name in {"value", "averageValue"} & target.keys():
        remarks.positive_quantity(f"{field}.{name}", target[name])


def _as_requested(metric: Json) -> Json:
    """With the name of an External metric in lower case, as the HPA controller requests it."""
    source = metric.get("external")
    if not isinstance(source, dict) or not isinstance(source.get("metric"), dict):
        return metric
    name = str(source["metric"].get("name", "")).lower()
    return {**metric, "external": {**source, "metric": {**source["metric"], "name": name}}}


def _read_v1(spec: Json, remarks: Remarks) -> None:
    """The only metric that autoscaling/v1 has a field for; without any metric, the API server's default is 80 percent of it."""
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        field = "spec.targetCPUUtilizationPercentage"
        if type(percent) is not int:
            raise remarks.unconvertible(field, f"Expected `int`, got {percent!r}")
        remarks.integer(field, percent, least=1)
        target = {"type": "Utilization", "averageUtilization": percent}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
