"""What each limit of an autoscaler means, in one sentence."""

from collections.abc import Mapping
from typing import Final

EXPLANATIONS: Final[Mapping[str, str]] = {
    "no scaler": "No controller has reconciled it yet.",
    "target": "The scale of its target cannot be read or written.",
    "metric": "A metric has no value, so it does not scale down.",
    "disabled": "A user has scaled the target to 0.",
    "shared target": "Another autoscaler scales the same pods.",
    "window": "Recent recommendations in the stabilization window hold the count.",
    "policy": "A scaling policy limits how fast the count may change.",
    "max": "The metrics propose more replicas than the maximum.",
    "min": "The metrics propose fewer replicas than the minimum.",
    "schedule": "A schedule sets the limit, or cannot be read.",
    "fallback": "A failed metric is replaced by its fallback.",
    "cooldown": "The cooldown before scaling to zero has not ended.",
    "suspended": "spec.suspend holds the count.",
    "rollout": "While pods of several revisions run, spec.podReadiness.rollout decides.",
    "resize": "Pods that are being resized count with their actual requests.",
    "panic": "A sharp rise in load overrides windows and policies.",
    "unready pods": "New pods do not become ready, so it does not scale up.",
    "outdated cache": "The scaler's cache of the cluster is too old to scale down.",
}
