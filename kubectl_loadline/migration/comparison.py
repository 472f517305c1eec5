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
    original, problem = _decided(hpa)
    own, own_problem = _decided(load_autoscaler)
    return Comparison(
        name=f"{metadata['namespace']}/{metadata['name']}",
        original_replicas=original,
        load_autoscaler_replicas=own,
        reason=_reason(problem, own_problem),
    )


def _reason(of_hpa: str | None, of_load_autoscaler: str | None) -> str | None:
    """Both usually fail with the same sentence, as they read the same metrics."""
    if of_hpa and of_hpa == of_load_autoscaler:
        return f"both: {of_hpa}"
    named = (("the HPA", of_hpa), ("the LoadAutoscaler", of_load_autoscaler))
    return "; ".join(f"{whose}: {problem}" for whose, problem in named if problem) or None


def _decided(autoscaler: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """The count, or why there is none."""
    status = autoscaler.get("status") or {}
    for condition in status.get("conditions") or []:
        inactive = condition["type"] == "ScalingActive" and condition["status"] != "True"
        if inactive and condition.get("reason") != "ScalingDisabled":
            return None, f"{condition.get('reason')}: {condition.get('message')}"
    if not status.get("conditions"):
        return None, "not reconciled yet"
    return int(status.get("desiredReplicas") or 0), None
