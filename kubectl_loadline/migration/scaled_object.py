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
)
from kubectl_loadline.migration.cron_trigger import schedules
from kubectl_loadline.migration.keda_annotations import is_always_active, suspension
from kubectl_loadline.migration.prometheus_trigger import PrometheusMetrics
from kubectl_loadline.migration.scaled_object_shape import ScaledObjectShape
from kubectl_loadline.migration.scaling_modifiers import formula_metric

API_VERSION: Final = "keda.sh/v1alpha1"

# KEDA's defaults.
MAX_REPLICAS: Final = 100
COOLDOWN_SECONDS: Final = 300
SECONDS_MAX: Final = 86_400
"""Of a cooldown and of the time after which a fallback begins, in the CRD of LoadAutoscalers."""
# The defaults of the HPA controller.
WINDOW_SECONDS: Final = 300
SYNC_PERIOD_SECONDS: Final = 15

# More than any usage: KEDA reads no activity from cpu and memory (`getScalerState`), so they do not keep a target from zero.
NEVER_ACTIVE: Final = "1P"


def from_scaled_object(
    scaled_object: Mapping[str, Any],
    *,
    dry_run: bool,
    as_objects: bool = False,
    names: AdapterNames | None = None,
) -> Converted:
    """`dry_run` sets `mode: DryRun`, so that it can run beside the original. `as_objects`: the values of Prometheus triggers
    become metrics of the scale target, which need no external.metrics.k8s.io. `names` are those of the objects that are converted
    together. Raises `Unconvertible`.
    """
    original = name_of(scaled_object)
    read_as(scaled_object, ScaledObjectShape)
    given = dict(scaled_object.get("spec") or {})
    if scaled_object.get("apiVersion") != API_VERSION:
        raise Unconvertible(f"{original}: apiVersion is not {API_VERSION}")
    remarks = Remarks(original)
    target = _target(given, remarks)
    if as_objects:
        _check_describes(scaled_object, target, remarks)
    prometheus = PrometheusMetrics(
        scaled_object, remarks, names or AdapterNames(), described=target if as_objects else None
    )
    triggers = given.get("triggers") or []
    metrics = _metrics(triggers, prometheus, remarks)
    if not metrics:
        raise Unconvertible(
            f"{original}: none of its triggers ({_types(given)}) has a counterpart. Leave it to KEDA, or "
            "export the value to Prometheus and use a metric of it"
        )
    if _add_formula(given, metrics, prometheus, remarks):
        triggers = _beside_formula(triggers, metrics, remarks)
    annotations = (scaled_object.get("metadata") or {}).get("annotations") or {}
    spec: Json = {"mode": "DryRun"} if dry_run else {}
    bounds = _bounds(given, metrics, remarks, always_active=is_always_active(annotations))
    if found_suspension := suspension(
        annotations, remarks, least=bounds["minReplicas"], most=bounds["maxReplicas"]
    ):
        spec["suspend"] = found_suspension
    spec["scaleTargetRef"] = target
    spec |= bounds
    if found := schedules(
        triggers,
        min_replicas=spec["minReplicas"],
        max_replicas=spec["maxReplicas"],
        remarks=remarks,
    ):
        spec["schedules"] = found
    spec["metrics"] = metrics
    _add_fallback(given, metrics, remarks)
    _read_advanced(given, spec, remarks)
    _remark_way_to_zero(spec, remarks)
    return Converted(
        original=original,
        autoscaler=load_autoscaler(scaled_object, spec),
        metrics=tuple(prometheus.rules),
        backends=tuple(prometheus.backends),
        remarks=tuple(remarks.found),
    )


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


def _types(spec: Mapping[str, Any]) -> str:
    return ", ".join(str(each.get("type")) for each in spec.get("triggers") or []) or "none"


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
                remarks.add(
                    f"spec.triggers[{index}]",
                    f"a trigger of type {kind} has no counterpart",
                    "Export the value to Prometheus and add a metric of it, or leave this object to KEDA.",
                )
    return found


def _add_formula(
    spec: Mapping[str, Any], metrics: list[Json], prometheus: PrometheusMetrics, remarks: Remarks
) -> bool:
    """Whether there is a formula, which has been added to the metrics."""
    modifiers = (spec.get("advanced") or {}).get("scalingModifiers")
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
    for metric in filter(_can_start, metrics):
        metric["use"] = "Input"
        metric.pop("activationValue", None)
    metrics.append(formula)
    return True


def _beside_formula(
    triggers: Sequence[Mapping[str, Any]], metrics: list[Json], remarks: Remarks
) -> Sequence[Mapping[str, Any]]:
    """The triggers that count beside a formula: in KEDA, only those of type Resource do (`getScaledObjectMetricSpecs`)."""
    metrics[:] = [each for each in metrics if each["type"] != "ContainerResource"]
    without_effect = [
        index
        for index, trigger in enumerate(triggers)
        if trigger.get("type") == "cron" or (trigger.get("metadata") or {}).get("containerName")
    ]
    for index in without_effect:
        remarks.add(
            f"spec.triggers[{index}]", "in KEDA, it has no effect beside a formula; it is omitted"
        )
    return [each for index, each in enumerate(triggers) if index not in without_effect]


def _resource(index: int, trigger: Mapping[str, Any], remarks: Remarks) -> Json:
    metadata = trigger.get("metadata") or {}
    kind = trigger.get("metricType") or metadata.get("type") or "Utilization"
    value = str(metadata.get("value", ""))
    field = f"spec.triggers[{index}].metadata.value"
    if kind == "Utilization":
        percent = remarks.integer(field, value)
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


def _bounds(
    spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks, *, always_active: bool
) -> Json:
    least = remarks.integer("spec.minReplicaCount", spec.get("minReplicaCount") or 0)
    if always_active:
        # KEDA starts it, and its HPA has at least one replica.
        least = max(1, least)
    most = spec.get("maxReplicaCount") or MAX_REPLICAS
    bounds: Json = {
        "minReplicas": least,
        "maxReplicas": remarks.integer("spec.maxReplicaCount", most),
    }
    if least == 0 and not any(map(_can_start, metrics)):
        bounds["minReplicas"] = 1
        _remark_zero(spec, remarks)
    elif least == 0:
        bounds["scaleToZero"] = _scale_to_zero(spec, remarks)
    if spec.get("idleReplicaCount") is not None and bounds["minReplicas"] > 0:
        _remark_idle(spec, metrics, remarks)
    if bounds["minReplicas"] > 0:
        for metric in metrics:
            metric.pop("activationValue", None)
    for name in ("initialCooldownPeriod", "pollingInterval"):
        if spec.get(name):
            remarks.add(f"spec.{name}", _INTERVALS[name])
    return bounds


def _scale_to_zero(spec: Mapping[str, Any], remarks: Remarks) -> Json:
    cooldown = spec.get("cooldownPeriod")
    seconds = (
        COOLDOWN_SECONDS if cooldown is None else remarks.integer("spec.cooldownPeriod", cooldown)
    )
    if seconds > SECONDS_MAX:
        seconds = SECONDS_MAX
        remarks.add("spec.cooldownPeriod", f"it is longer than a day: {seconds} s is used")
    # KEDA starts a target from any zero, and most targets that are converted have the zero that KEDA has set.
    return {"cooldownSeconds": seconds, "manualZero": "Activate"}


def _remark_idle(spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks) -> None:
    """What to set for scaling to zero while nothing is active: the activation values are omitted with `minReplicas` above 0."""
    remarks.add(
        "spec.idleReplicaCount",
        "LoadAutoscalers have no separate replica count for idle times, so the target keeps minReplicas; one that is at 0 is disabled "
        "until it is scaled to minReplicas",
        f"To scale to zero while no trigger is active, {_way_to_zero(spec, metrics, remarks)}",
    )


def _way_to_zero(spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks) -> str:
    if not any(map(_can_start, metrics)):
        return _METRIC_FOR_ZERO
    zero = _scale_to_zero(spec, remarks)
    fields = [
        "minReplicas: 0",
        f"scaleToZero: {{cooldownSeconds: {zero['cooldownSeconds']}, manualZero: Activate}}",
        *(
            f"activationValue: {each['activationValue']!r} in {each.get('name') or each['type']}"
            for each in metrics
            if "activationValue" in each
        ),
    ]
    return f"set {', '.join(fields)}. While one is active, the target then has at least 1 replica."


def _remark_zero(spec: Mapping[str, Any], remarks: Remarks) -> None:
    """Why an object without a metric that can be read at zero replicas does not go to zero."""
    if all(trigger.get("type") in ("cpu", "memory") for trigger in spec["triggers"]):
        remarks.add(
            "spec.minReplicaCount",
            "with only cpu and memory, KEDA keeps one replica as well: minReplicas is 1",
        )
        return
    remarks.add(
        "spec.minReplicaCount",
        "KEDA scales to zero while no trigger other than cpu and memory is active. A LoadAutoscaler needs a metric of type Object or "
        "External to start again, so minReplicas is 1",
        f"For that, {_METRIC_FOR_ZERO}",
    )


_METRIC_FOR_ZERO: Final = (
    "add a metric of type Object or External, set minReplicas to 0, "
    f"and activationValue to {NEVER_ACTIVE} in the cpu and memory metrics."
)


def _remark_way_to_zero(spec: Mapping[str, Any], remarks: Remarks) -> None:
    """In KEDA `behavior` belongs to the HPA, which never goes to zero; here it applies to zero too."""
    if "scaleToZero" not in spec:
        return
    behavior = spec.get("behavior") or {}
    if (behavior.get("scaleUp") or {}).get("selectPolicy") == "Disabled":
        remarks.add(
            "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.selectPolicy",
            "Disabled also keeps the target at zero, which it does not in KEDA",
            "Remove it, and set maxReplicas to the most replicas that the target may have.",
        )
    scale_down = behavior.get("scaleDown") or {}
    field = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown"
    if scale_down.get("selectPolicy") == "Disabled":
        remarks.add(
            f"{field}.selectPolicy",
            "Disabled also keeps the target from zero, which it does not in KEDA",
            "Replace it with a policy that is slow, such as 1 pod in 1800 s, and `selectPolicy: Max`.",
        )
    elif scale_down.get("policies"):
        remarks.add(
            f"{field}.policies",
            "they also limit how fast the target goes to zero. KEDA sets it to zero at once after the cooldown",
        )
    window_seconds = scale_down.get("stabilizationWindowSeconds", WINDOW_SECONDS)
    cooldown_seconds = spec.get("scaleToZero", {}).get("cooldownSeconds", window_seconds)
    if cooldown_seconds < window_seconds:
        remarks.add(
            "spec.cooldownPeriod",
            f"the stabilization window ({window_seconds} s) also delays scaling to zero, and it is longer than the cooldown "
            f"({cooldown_seconds} s)",
            "Set behavior.scaleDown.stabilizationWindowSeconds to at most the cooldown to scale to zero as early as KEDA.",
        )


_INTERVALS: Final = {
    "initialCooldownPeriod": "a LoadAutoscaler has no separate cooldown after its creation: cooldownSeconds counts from then",
    "pollingInterval": "every metric is read once per --sync-period (15s), also at zero replicas; spec.syncPeriodSeconds changes it for one object",
}


def _add_fallback(spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks) -> None:
    """KEDA counts the requests of the HPA that fail (`GetMetricsWithFallback`), one in each of its periods, whatever `pollingInterval` is.

    A LoadAutoscaler measures the time for which a metric has failed.
    """
    given = spec.get("fallback")
    if not given:
        return
    failures = remarks.integer("spec.fallback.failureThreshold", given.get("failureThreshold", 0))
    seconds = failures * SYNC_PERIOD_SECONDS
    if seconds > SECONDS_MAX:
        seconds = SECONDS_MAX
        remarks.add(
            "spec.fallback.failureThreshold", f"it is longer than a day: {seconds} s is used"
        )
    duration = {"failureDurationSeconds": seconds}
    match given.get("behavior", "static"):
        case "static":
            replicas = remarks.integer("spec.fallback.replicas", given.get("replicas", 0))
            # A trigger with a fallback is active, so KEDA keeps one replica (`isActiveOrFallback`).
            fallback: Json = {"type": "Replicas", "replicas": max(1, replicas), **duration}
        case "currentReplicas":
            fallback = {"type": "Hold", **duration}
        case behavior:
            remarks.add(
                "spec.fallback.behavior",
                f"{behavior} has no counterpart; metrics get no fallback",
                "Add `fallback` to the metrics.",
            )
            return
    for metric in filter(_can_start, metrics):
        metric["fallback"] = fallback


def _can_start(metric: Json) -> bool:
    """Whether it scales, and can be read at zero replicas."""
    return metric["type"] in ("External", "Object", "Formula") and metric.get("use") != "Input"


def _read_advanced(spec: Mapping[str, Any], into: Json, remarks: Remarks) -> None:
    advanced = spec.get("advanced") or {}
    config = advanced.get("horizontalPodAutoscalerConfig") or {}
    if config.get("behavior"):
        into["behavior"] = config["behavior"]
    if advanced.get("restoreToOriginalReplicaCount"):
        remarks.add(
            "spec.advanced.restoreToOriginalReplicaCount",
            "deleting a LoadAutoscaler leaves the replica count as it is",
            "Set it to false in the ScaledObject before you delete that, or KEDA scales the target to its original count.",
        )
