"""Annotations of ScaledObjects: pauses, and `force-activation`."""

from collections.abc import Mapping
from typing import Any, Final

from kubectl_loadline.migration.conversion import OF_KEDA, Json, Remarks, as_boolean
from wire.api.int64 import parse_int64

_PAUSED: Final = "autoscaling.keda.sh/paused"
_FORCED: Final = "autoscaling.keda.sh/force-activation"


def is_always_active(annotations: Mapping[str, Any]) -> bool:
    """Whether KEDA keeps at least one replica, whatever its triggers say (`NeedToForceActivation`)."""
    return _is_set(annotations, _FORCED)


def suspension(annotations: Mapping[str, Any], remarks: Remarks, *, least: int, most: int) -> Json:
    """KEDA's `NeedToBePausedByAnnotation`, `NeedToPauseScaleIn` and `NeedToPauseScaleOut`; `least` and `most` are the bounds."""
    replicas, scale_in, scale_out = (
        f"{_PAUSED}-{each}" for each in ("replicas", "scale-in", "scale-out")
    )
    for name in sorted(annotations.keys() - {_PAUSED, _FORCED, replicas, scale_in, scale_out}):
        if name.startswith(OF_KEDA):
            remarks.add(f"metadata.annotations[{name}]", "it has no counterpart and is omitted")
    if replicas in annotations:
        # As in KEDA's `GetPausedReplicaCount`.
        count = parse_int64(str(annotations[replicas]))
        if count == 0 < least:
            remarks.add(
                f"metadata.annotations[{replicas}]",
                "a target that is at 0 already is disabled after the suspension, as minReplicas is above 0",
                "Scale it to minReplicas after `suspend` was removed.",
            )
        if count is not None and 0 <= count <= most:
            return {"direction": "Both", "replicas": count}
        remarks.add(
            f"metadata.annotations[{replicas}]",
            f"{annotations[replicas]!r} is not a number from 0 to maxReplicas ({most}); the replicas are kept as they are",
        )
        return {"direction": "Both"}
    down, up = _is_set(annotations, scale_in), _is_set(annotations, scale_out)
    if _is_set(annotations, _PAUSED) or (down and up):
        return {"direction": "Both"}
    if down or up:
        return {"direction": "Down" if down else "Up"}
    return {}


def _is_set(annotations: Mapping[str, Any], name: str) -> bool:
    """KEDA's `getBoolAnnotation`: a value that is neither true nor false counts as true."""
    return name in annotations and as_boolean(annotations[name]) is not False
