"""KEDA's ScaledObject (keda.sh/v1alpha1) to a LoadAutoscaler. docs/keda-fields.md has the table of the fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubectl_loadline.migration.adapter_names import AdapterNames
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
from kubectl_loadline.migration.cron_trigger import CronTrigger, cron_trigger, schedules
from kubectl_loadline.migration.keda_annotations import is_always_active, suspension
from kubectl_loadline.migration.keda_fallback import add_fallback
from kubectl_loadline.migration.prometheus_trigger import PrometheusMetrics
from kubectl_loadline.migration.replica_bounds import (
    NEVER_ACTIVE,
    TRIGGER_WITHOUT_LOAD,
    can_start,
    kept_seconds,
    remark_way_to_zero,
    replica_bounds,
)
from kubectl_loadline.migration.scaled_object_shape import ScaledObjectShape
from kubectl_loadline.migration.scaling_modifiers import formula_metric

API_VERSION: Final = "keda.sh/v1alpha1"


def from_scaled_object(
    source: Mapping[str, Any],
    *,
    dry_run: bool,
    as_objects: bool = False,
    names: AdapterNames | None = None,
) -> Converted:
    """`dry_run` sets `mode: DryRun`, so that it can run beside the original; without a trigger or formula of the original, which may
    be the one that has load, it is always set. `as_objects`: the values of Prometheus triggers
    become metrics of the scale target, which need no external.metrics.k8s.io. `names` are those of the objects that are converted
    together. Raises `Unconvertible`.
    """
    scaled_object = without_nulls(source)
    original = name_of(scaled_object)
    read_as(scaled_object, ScaledObjectShape)
    given = scaled_object.get("spec") or {}
    if scaled_object.get("apiVersion") != API_VERSION:
        raise Unconvertible(f"{original}: apiVersion is not {API_VERSION}")
    remarks = Remarks(original)
    if not (scaled_object.get("metadata") or {}).get("name"):
        raise remarks.unconvertible("metadata.name", "it is missing")
    target = _target(given, remarks)
    if as_objects:
        _check_describes(scaled_object, target, remarks)
    prometheus = PrometheusMetrics(
        scaled_object,
        remarks,
        names or AdapterNames(),
        described=target if as_objects else None,
        beside_formula=bool(_modifiers(given)),
    )
    metrics, cron_triggers = _triggers(original, given, prometheus, remarks)
    annotations = (scaled_object.get("metadata") or {}).get("annotations") or {}
    spec: Json = {}
    bounds = replica_bounds(given, metrics, remarks, is_forced=is_always_active(annotations))
    if found_suspension := suspension(
        annotations, remarks, least=bounds["minReplicas"], most=bounds["maxReplicas"]
    ):
        spec["suspend"] = found_suspension
    spec["scaleTargetRef"] = target
    spec |= bounds
    behavior = _behavior(given, remarks)
    if found := schedules(
        cron_triggers,
        min_replicas=spec["minReplicas"],
        max_replicas=spec["maxReplicas"],
        kept_seconds=kept_seconds(bounds, behavior),
        remarks=remarks,
    ):
        spec["schedules"] = found
    spec["metrics"] = metrics
    add_fallback(given, metrics, remarks)
    if behavior:
        spec["behavior"] = behavior
    remark_way_to_zero(spec, remarks)
    if dry_run or remarks.has_omission:
        spec = {"mode": "DryRun", **spec}
    return Converted(
        autoscaler=load_autoscaler(scaled_object, spec, remarks),
        metrics=tuple(prometheus.rules),
        backends=tuple(prometheus.backends),
        remarks=tuple(remarks.found),
    )


def _triggers(
    original: str, spec: Mapping[str, Any], prometheus: PrometheusMetrics, remarks: Remarks
) -> tuple[list[Json], list[CronTrigger]]:
    """The metrics, with the formula, and the cron triggers that have an effect. Raises `Unconvertible` without a metric."""
    triggers = spec.get("triggers") or []
    metrics = _metrics(triggers, prometheus, remarks)
    cron_triggers = [
        cron_trigger(index, trigger, remarks)
        for index, trigger in enumerate(triggers)
        if trigger.get("type") == "cron"
    ]
    if not metrics:
        raise Unconvertible(f"{original}: {_without_metric(spec)}")
    if _add_formula(spec, metrics, prometheus, remarks):
        _remove_beside_formula(triggers, metrics, remarks)
        cron_triggers = []
    return metrics, cron_triggers


def _check_describes(scaled_object: Mapping[str, Any], target: Json, remarks: Remarks) -> None:
    """What the metrics of a scale target need to know of it. Raises `Unconvertible`."""
    if not (scaled_object.get("metadata") or {}).get("namespace"):
        raise Unconvertible(
            f"{name_of(scaled_object)}: metadata.namespace is missing. With --as-objects, the query of a metric says in which namespace "
            "the scale target is: add it to the manifest"
        )
    if not target["apiVersion"].startswith("apps/"):
        remarks.add(
            "spec.scaleTargetRef",
            f"the plural of {target['kind']} in `describes` of its metrics is a guess",
            "Compare it with `kubectl api-resources`.",
        )


def _without_metric(spec: Mapping[str, Any]) -> str:
    """Why an object has no metric, and what to do."""
    types = [str(each.get("type")) for each in spec.get("triggers") or []]
    if {*types} == {"cron"} and not _modifiers(spec):
        return f"it has only cron triggers, and a LoadAutoscaler needs a metric beside its schedules: {TRIGGER_WITHOUT_LOAD}"
    return (
        f"none of its triggers ({', '.join(types) or 'none'}) has a counterpart. Leave it to KEDA, or "
        "export the value to Prometheus and use a metric of it"
    )


def _target(spec: Mapping[str, Any], remarks: Remarks) -> Json:
    given = spec.get("scaleTargetRef") or {}
    if not given.get("name"):
        raise remarks.unconvertible("spec.scaleTargetRef.name", "it is missing")
    return {
        "apiVersion": given.get("apiVersion") or "apps/v1",
        "kind": given.get("kind") or "Deployment",
        "name": given["name"],
    }


def _metrics(
    triggers: Sequence[Mapping[str, Any]], prometheus: PrometheusMetrics, remarks: Remarks
) -> list[Json]:
    found: list[Json] = []
    for index, trigger in enumerate(triggers):
        match trigger.get("type"):
            case "prometheus":
                found.append(prometheus.metric(index, trigger))
            case "cpu" | "memory":
                found.append(_resource(index, trigger, remarks))
            case "cron":
                pass  # it becomes a schedule
            case kind:
                remarks.omit(
                    f"spec.triggers[{index}]",
                    f"a trigger of type {kind} has no counterpart",
                    "Export the value to Prometheus and add a metric of it, or leave this object to KEDA.",
                )
    return found


def _modifiers(spec: Mapping[str, Any]) -> Json:
    found: Json = (spec.get("advanced") or {}).get("scalingModifiers") or {}
    return found


def _add_formula(
    spec: Mapping[str, Any], metrics: list[Json], prometheus: PrometheusMetrics, remarks: Remarks
) -> bool:
    """Whether there is a formula, which has been added to the metrics."""
    modifiers = _modifiers(spec)
    if not modifiers:
        return False
    formula = formula_metric(
        modifiers,
        label=prometheus.new_label("formula"),
        triggers=prometheus.labels,
        replaces_failed=(spec.get("fallback") or {}).get("behavior") == "scalingModifiers",
        remarks=remarks,
    )
    if formula is None:
        return False
    for metric in filter(can_start, metrics):
        metric["use"] = "Input"
        metric.pop("activationValue", None)
    metrics.append(formula)
    return True


def _remove_beside_formula(
    triggers: Sequence[Mapping[str, Any]], metrics: list[Json], remarks: Remarks
) -> None:
    """Beside a formula, only triggers of type Resource count in KEDA (`getScaledObjectMetricSpecs`)."""
    metrics[:] = [each for each in metrics if each["type"] != "ContainerResource"]
    for index, trigger in enumerate(triggers):
        if trigger.get("type") == "cron" or (trigger.get("metadata") or {}).get("containerName"):
            remarks.add(
                f"spec.triggers[{index}]",
                "in KEDA, it has no effect beside a formula; it is omitted",
            )


def _resource(index: int, trigger: Mapping[str, Any], remarks: Remarks) -> Json:
    metadata = trigger.get("metadata") or {}
    # KEDA before 2.18 also takes it from the metadata.
    kind = trigger.get("metricType") or metadata.get("type")
    if kind not in ("Utilization", "AverageValue"):
        given = "it is missing" if kind is None else f"{kind!r} is neither"
        raise remarks.unconvertible(
            f"spec.triggers[{index}].metricType",
            f"{given}, which KEDA refuses. Write Utilization or AverageValue",
        )
    value = str(metadata.get("value", "")).strip()
    field = f"spec.triggers[{index}].metadata.value"
    if kind == "Utilization":
        percent = remarks.integer(field, value, least=1)
        target: Json = {"type": kind, "averageUtilization": percent}
    else:
        quantity = remarks.positive_quantity(field, value)
        target = {"type": "AverageValue", "averageValue": quantity}
    if metadata.get("activationValue"):
        remarks.add(
            f"spec.triggers[{index}].metadata.activationValue",
            "cpu and memory cannot scale up a target that has no pods; the field is omitted",
        )
    source: Json = {"name": trigger["type"], "target": target}
    metric: Json = {"type": "Resource", "resource": source}
    if container := metadata.get("containerName"):
        metric = {
            "type": "ContainerResource",
            "containerResource": {**source, "container": container},
        }
    return {**metric, "activationValue": NEVER_ACTIVE}


def _behavior(spec: Mapping[str, Any], remarks: Remarks) -> Json:
    advanced = spec.get("advanced") or {}
    config = advanced.get("horizontalPodAutoscalerConfig") or {}
    if advanced.get("restoreToOriginalReplicaCount"):
        remarks.add(
            "spec.advanced.restoreToOriginalReplicaCount",
            "deleting a LoadAutoscaler leaves the replica count as it is",
            "Set it to false in the ScaledObject before you delete that, or KEDA scales the target to its original count.",
        )
    found: Json = config.get("behavior") or {}
    return found
