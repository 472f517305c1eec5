"""The bounds of a ScaledObject, and its way to zero and from it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubectl_loadline.migration.conversion import Json, Remarks

# KEDA's defaults.
MAX_REPLICAS: Final = 100
COOLDOWN_SECONDS: Final = 300
SECONDS_MAX: Final = 86_400
"""Of a cooldown and of the time after which a fallback begins, in the CRD of LoadAutoscalers."""
WINDOW_SECONDS: Final = 300
"""The default of the HPA controller."""

# More than any usage: KEDA reads no activity from cpu and memory (`getScalerState`), so they do not keep a target from zero.
NEVER_ACTIVE: Final = "1P"


def replica_bounds(
    spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks, *, is_forced: bool
) -> Json:
    """`minReplicas`, `maxReplicas` and `scaleToZero`; without the last, the metrics lose their activation values. Raises `Unconvertible`.

    `is_forced`: KEDA keeps a replica whatever its triggers say.
    """
    least, most = remarks.bounds(
        spec, "minReplicaCount", "maxReplicaCount", defaults=(0, MAX_REPLICAS)
    )
    _check_idle(spec, remarks)
    reason = _reason_to_be_active(spec, metrics)
    is_always_active = is_forced or reason is not None
    kept = f"{reason}: minReplicas is 1; " if reason and least == 0 else ""
    if is_always_active:
        # KEDA starts it, and its HPA has at least one replica.
        least = max(1, least)
    goes_to_zero = least == 0 and any(map(can_start, metrics))
    bounds: Json = {"minReplicas": least if goes_to_zero else max(1, least), "maxReplicas": most}
    if goes_to_zero:
        bounds["scaleToZero"] = _scale_to_zero(spec, remarks)
    elif spec.get("idleReplicaCount") is not None and not is_always_active:
        _remark_idle(spec, metrics, remarks)
    elif least == 0:
        _remark_zero(remarks)
    else:
        remarks.add_common(
            "spec.minReplicaCount", f"{kept}{_STAYS_AT_ZERO}, while KEDA scales it up"
        )
    if not goes_to_zero:
        for metric in metrics:
            metric.pop("activationValue", None)
    for name in ("initialCooldownPeriod", "pollingInterval"):
        if spec.get(name):
            remarks.add(f"spec.{name}", _INTERVALS[name])
    return bounds


def _reason_to_be_active(spec: Mapping[str, Any], metrics: Sequence[Json]) -> str | None:
    """Why KEDA keeps a replica also without load (`getScaledObjectState`)."""
    if all(each.get("type") in ("cpu", "memory") for each in spec["triggers"]):
        return "with only cpu and memory, KEDA keeps one replica as well"
    for metric in metrics:
        if (value := metric.get("activationValue", "")).startswith("-"):
            return f"KEDA keeps one replica while {metric['name']} is above {value}, as it is at 0"
    return None


def _check_idle(spec: Mapping[str, Any], remarks: Remarks) -> None:
    """KEDA's `CheckReplicaCountBoundsAreValid`, which counts an explicit `minReplicaCount` of 0 as 1. Raises `Unconvertible`."""
    if spec.get("idleReplicaCount") is None:
        return
    field = "spec.idleReplicaCount"
    idle = remarks.integer(field, spec["idleReplicaCount"])
    given = spec.get("minReplicaCount")
    least = 0 if given is None else max(1, remarks.integer("spec.minReplicaCount", given))
    if idle >= least:
        raise remarks.unconvertible(
            field,
            f"{idle} is not less than minReplicaCount ({given or 0}), which KEDA refuses. Remove it, or increase minReplicaCount",
        )


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


_STAYS_AT_ZERO: Final = "a target that is at 0 is disabled until it is scaled to minReplicas"


def _remark_idle(spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks) -> None:
    """What to set for scaling to zero while nothing is active: the activation values are omitted with `minReplicas` above 0.

    With a trigger that is omitted, the target would be at zero while only that has load.
    """
    remarks.add(
        "spec.idleReplicaCount",
        f"LoadAutoscalers have no separate replica count for idle times, so the target keeps minReplicas; {_STAYS_AT_ZERO}",
        None
        if remarks.has_omission
        else f"To scale to zero while no trigger is active, {_way_to_zero(spec, metrics, remarks)}",
    )


def _way_to_zero(spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks) -> str:
    if not any(map(can_start, metrics)):
        return f"{TRIGGER_WITHOUT_LOAD}."
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


def _remark_zero(remarks: Remarks) -> None:
    """Why an object without a metric that can be read at zero replicas does not go to zero, and what to do, as of `_remark_idle`."""
    remarks.add(
        "spec.minReplicaCount",
        "KEDA scales to zero while no trigger other than cpu and memory is active. A LoadAutoscaler needs a metric of type Object or "
        f"External to start again, so minReplicas is 1; {_STAYS_AT_ZERO}",
        None if remarks.has_omission else f"To scale to zero, {TRIGGER_WITHOUT_LOAD}.",
    )


def kept_seconds(bounds: Json, behavior: Json) -> int:
    """How long the HPA of KEDA keeps the replicas of a trigger that ends; no longer than until KEDA goes to zero.

    `bounds` are those of `replica_bounds`.
    """
    window_seconds = _window_seconds(behavior)
    if "scaleToZero" not in bounds:
        return window_seconds
    cooldown_seconds: int = bounds["scaleToZero"]["cooldownSeconds"]
    return min(window_seconds, cooldown_seconds)


def _window_seconds(behavior: Json) -> int:
    scale_down = behavior.get("scaleDown") or {}
    found: int = scale_down.get("stabilizationWindowSeconds", WINDOW_SECONDS)
    return found


TRIGGER_WITHOUT_LOAD: Final = (
    'add a trigger of type prometheus with the serverAddress of your Prometheus, `query: vector(0)` and `threshold: "1"`, '
    "which never adds replicas, and convert it again"
)
"""What makes a LoadAutoscaler do what KEDA does by cron triggers alone: only its schedules then keep it from `minReplicas`, and from zero."""


def remark_way_to_zero(spec: Mapping[str, Any], remarks: Remarks) -> None:
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
    window_seconds = _window_seconds(behavior)
    cooldown_seconds = spec["scaleToZero"]["cooldownSeconds"]
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


def can_start(metric: Json) -> bool:
    """Whether it scales, and can be read at zero replicas."""
    return metric["type"] in ("External", "Object", "Formula") and metric.get("use") != "Input"
