"""The objects of a scenario as a user would write them, with the defaults that the API server fills in."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tests.simulation.cluster import Cluster, Document
from tests.simulation.fields import Fields, Window
from tests.simulation.learned_forecast import learned_status
from tests.simulation.memory_objects import MEMORIES
from tests.simulation.metrics_apis import (
    CANDIDATE_RATIO,
    CUSTOM,
    EXTERNAL,
    UNITS_PER_REPLICA,
    metric_spec,
)
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan, Rules, Scenario
from wire.api.loadline import API_VERSION

PANIC_PERCENT = 200


def add_collections(cluster: Cluster) -> None:
    """The resources of the cluster."""
    add = cluster.add
    add(API_VERSION, "LoadAutoscaler", "loadautoscalers")
    add("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
    add(API_VERSION, "ScalingMemory", MEMORIES)
    add(API_VERSION, "ScalingCalendar", "scalingcalendars")
    add(API_VERSION, "ClusterScalingCalendar", "clusterscalingcalendars")
    add("v1", "Pod", "pods")
    add("apps/v1", "Deployment", "deployments")
    add("coordination.k8s.io/v1", "Lease", "leases")


def document(plan: AutoscalerPlan, api_version: str, kind: str, epoch: int) -> Document:
    """The autoscaler; a HorizontalPodAutoscaler has none of the additional fields. The world begins at `epoch`, in Unix seconds."""
    spec: Document = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": plan.name},
        "minReplicas": plan.min_replicas,
        "maxReplicas": plan.max_replicas,
        "metrics": [
            metric_spec(group, plan.name, by_adapter=plan.by_adapter) for group in plan.groups
        ],
    }
    if plan.up is not None and plan.down is not None:
        spec["behavior"] = {
            "scaleUp": rules_document(plan.up),
            "scaleDown": rules_document(plan.down),
        }
    if kind == "LoadAutoscaler":
        _add_to_metrics(spec["metrics"], plan)
        _add_to_behavior(spec, plan.fields)
        spec |= _top_level(plan, epoch)
    metadata = {"namespace": plan.namespace, "name": plan.name}
    found = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    if "forecast" in spec:
        found["status"] = learned_status(plan, spec, epoch)
    return found


def calendar(plan: AutoscalerPlan, epoch: int) -> Document | None:
    """The ScalingCalendar that a schedule refers to."""
    window = plan.fields.window
    if window is None or not plan.fields.is_by_calendar:
        return None
    local = window.local
    start = _time(window.begin, epoch) if local is None else local.start
    entry = {"name": "window", "start": start, **_bounds(window)}
    if local is not None and local.is_daily:
        entry["rrule"] = "FREQ=DAILY"
    spec: Document = {"entries": [entry]}
    if local is not None:
        spec["timeZone"] = local.time_zone
    return {"metadata": {"namespace": plan.namespace, "name": plan.name}, "spec": spec}


def rules_document(rules: Rules) -> dict[str, Any]:
    """One direction of `behavior`."""
    found: dict[str, Any] = {
        "selectPolicy": "Max",
        "policies": [
            {"type": each.type, "value": each.value, "periodSeconds": each.period_seconds}
            for each in rules.policies
        ],
    }
    if rules.window_seconds is not None:
        found["stabilizationWindowSeconds"] = rules.window_seconds
    return found


def _top_level(plan: AutoscalerPlan, epoch: int) -> Document:
    fields = plan.fields
    found: Document = {}
    if fields.sync_period_seconds is not None:
        found["syncPeriodSeconds"] = fields.sync_period_seconds
    if fields.is_dry_run:
        found["mode"] = "DryRun"
    if fields.suspension is not None:
        until = _time(fields.suspension.until, epoch) + "Z"
        found["suspend"] = {"direction": fields.suspension.direction, "until": until}
        if fields.suspension.replicas is not None:
            found["suspend"]["replicas"] = fields.suspension.replicas
    if fields.cooldown_seconds is not None:
        found["scaleToZero"] = {"cooldownSeconds": fields.cooldown_seconds}
    if fields.rollout:
        found["podReadiness"] = {"rollout": fields.rollout}
    if fields.forecast:
        name = "load" if fields.is_formula else "first"
        mode = "DryRun" if fields.forecast == "DryRun" else "Add"
        found["forecast"] = {"metric": name, "mode": mode, "leadSeconds": 120}
    if fields.has_candidate:
        found["candidate"] = _candidate(plan)
    if fields.window is not None:
        found["schedules"] = [{"name": "window", **_starts(plan, fields.window, epoch)}]
    return found


def _candidate(plan: AutoscalerPlan) -> Document:
    metric = metric_spec(EXTERNAL, plan.name)
    target = {"type": "AverageValue", "averageValue": str(UNITS_PER_REPLICA * CANDIDATE_RATIO)}
    metric["external"] = {**metric["external"], "target": target}
    found: Document = {"metrics": [metric], "steps": [{"weightPercent": 50, "holdSeconds": 86400}]}
    above = plan.fields.aborts_above
    if above is not None:
        found["abortWhen"] = [_abort_condition(metric, above)]
    return found


def _abort_condition(metric: Document, above: int) -> Document:
    return {"metric": metric["external"]["metric"], "above": str(above), "forSeconds": 0}


def _starts(plan: AutoscalerPlan, window: Window, epoch: int) -> Document:
    if plan.fields.is_by_calendar:
        return {"calendarRef": {"kind": "ScalingCalendar", "name": plan.name}}
    if window.local is None:
        return {"dates": [_time(window.begin, epoch)], **_bounds(window)}
    zone = {"timeZone": window.local.time_zone}
    if window.local.is_daily:
        return {"schedule": window.local.cron, **zone, **_bounds(window)}
    return {"dates": [window.local.start], **zone, **_bounds(window)}


def _bounds(window: Window) -> Document:
    return {
        "durationSeconds": window.seconds,
        "minReplicas": window.min_replicas,
        "maxReplicas": window.max_replicas,
    }


def _add_to_metrics(metrics: list[Document], plan: AutoscalerPlan) -> None:
    fields, first = plan.fields, metrics[0]
    deciding = first
    if fields.is_formula:
        first |= {"name": "queue", "use": "Input"}
        target = {"type": "AverageValue", "averageValue": "1"}
        expression = f"queue / {UNITS_PER_REPLICA}"
        formula = {"expression": expression, "target": target}
        deciding = {"name": "load", "type": "Formula", "formula": formula}
        metrics.append(deciding)
    if fields.activation is not None:
        deciding["activationValue"] = str(fields.activation)
    if fields.fallback is not None:
        deciding.setdefault("name", "first")
        deciding["fallback"] = _fallback_document(fields)
    if fields.forecast:
        deciding.setdefault("name", "first")
    if fields.deletes_least_busy:
        costs = metric_spec(CUSTOM, plan.name)
        metrics.append({**costs, "name": "connections", "use": "Input"})


def _fallback_document(fields: Fields) -> Document:
    fallback = fields.fallback
    assert fallback is not None
    found: Document = {"type": fallback.type, "failureDurationSeconds": fallback.failure_seconds}
    if fallback.type == "Replicas":
        found["replicas"] = fallback.replicas
    if fallback.type == "LastValue":
        found["lastValueMaxAgeSeconds"] = fallback.age_seconds_max
    return found


def _add_to_behavior(spec: Document, fields: Fields) -> None:
    ups: Document = {}
    if fields.panic_hold_seconds is not None:
        ups["panic"] = {
            "thresholdPercent": PANIC_PERCENT,
            "windowSeconds": 6,
            "holdSeconds": fields.panic_hold_seconds,
        }
    if fields.ready_timeout_seconds is not None:
        timeout = fields.ready_timeout_seconds
        ups["futility"] = {"readyTimeoutSeconds": timeout, "maxUnreadyReplicas": 2}
    if ups:
        spec["behavior"]["scaleUp"] |= ups
    if fields.deletes_least_busy:
        spec["behavior"]["scaleDown"]["podDeletionCost"] = {"metric": "connections"}


def _time(world_seconds: int, epoch: int) -> str:
    return datetime.fromtimestamp(epoch + world_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def plural_of(autoscaler: Document) -> str:
    """The resource of an autoscaler."""
    is_hpa = autoscaler.get("kind") == "HorizontalPodAutoscaler"
    return "horizontalpodautoscalers" if is_hpa else "loadautoscalers"


def bounds(
    scenario: Scenario, plural: str, found: Document, now: float, offsets: Iterable[float]
) -> list[tuple[int, int]]:
    """Those of an autoscaler that apply now, with the schedule, by clocks that were stepped by these offsets, and by others.

    The last ones are by a clock that is right, or a little ahead.
    """
    moments = [
        now + offset + error
        for offset in (*sorted({*offsets} - {0.0}), 0.0)
        for error in (-CLOCK_ERROR_SECONDS, 0.0, CLOCK_ERROR_SECONDS)
    ]
    at_moments = [_bounds_at(scenario, plural, found, each) for each in moments]
    return list(dict.fromkeys(reversed(at_moments)))[::-1]


def _bounds_at(scenario: Scenario, plural: str, found: Document, at: float) -> tuple[int, int]:
    metadata, spec = found["metadata"], found["spec"]
    if plural == "loadautoscalers":
        key = f"{metadata['namespace']}/{spec['scaleTargetRef']['name']}"
        plan = next(each for each in scenario.autoscalers if each.key == key)
        window = plan.fields.window
        if window is not None and any(begin <= at < end for begin, end in window.periods):
            return window.min_replicas, window.max_replicas
    return spec["minReplicas"], spec["maxReplicas"]
