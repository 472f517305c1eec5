"""KEDA's `fallback`, which is one of each metric here."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubectl_loadline.migration.conversion import Json, Remarks
from kubectl_loadline.migration.replica_bounds import SECONDS_MAX, can_start

SYNC_PERIOD_SECONDS: Final = 15
"""The default of the HPA controller."""


def add_fallback(spec: Mapping[str, Any], metrics: Sequence[Json], remarks: Remarks) -> None:
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
    for metric in filter(can_start, metrics):
        metric["fallback"] = fallback
