"""Whether a LoadAutoscaler in DryRun and the HPA beside it would set the same replica count now."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What both would set; None for one that has not decided yet or cannot decide."""

    name: str  # namespace/name of the LoadAutoscaler
    original_replicas: int | None
    load_autoscaler_replicas: int | None
    reason: str | None = None  # why one of them has no count

    @property
    def agrees(self) -> bool:
        """Whether both have decided, and on the same count."""
        return self.original_replicas is not None and (
            self.original_replicas == self.load_autoscaler_replicas
        )


def compare(hpa: Mapping[str, Any], load_autoscaler: Mapping[str, Any]) -> Comparison:
    """Compare `status.desiredReplicas` of both, unless the condition ScalingActive is not True."""
    metadata = load_autoscaler["metadata"]
    original, problem = _decided(hpa, "the HPA")
    own, own_problem = _decided(load_autoscaler, "the LoadAutoscaler")
    return Comparison(
        name=f"{metadata['namespace']}/{metadata['name']}",
        original_replicas=original,
        load_autoscaler_replicas=own,
        reason="; ".join(text for text in (problem, own_problem) if text) or None,
    )


def _decided(autoscaler: Mapping[str, Any], what: str) -> tuple[int | None, str | None]:
    status = autoscaler.get("status") or {}
    for condition in status.get("conditions") or []:
        inactive = condition["type"] == "ScalingActive" and condition["status"] != "True"
        if inactive and condition.get("reason") != "ScalingDisabled":
            return None, f"{what}: {condition.get('reason')}: {condition.get('message')}"
    if not status.get("conditions"):
        return None, f"{what} has not been reconciled yet"
    return int(status.get("desiredReplicas") or 0), None
