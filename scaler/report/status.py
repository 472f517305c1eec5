"""What is written into an autoscaler's status, and read back from it after a restart.

A HorizontalPodAutoscaler gets what its own controller would write. A LoadAutoscaler gets that and,
for people, the target and the metrics as text, and for the scaler, the history that must not be lost:
without it the first low reading after a restart could shrink what was held up, and every policy
would begin a fresh period.
"""

import msgspec

from scaler.model.autoscaler import Autoscaler, AutoscalerStatus, Behavior
from scaler.model.kinds import WatchedKind
from scaler.model.memory import Memory, Recommendation, ScaleEvent
from scaler.recommend.combine import metrics_of
from scaler.report.printing import printed_targets
from wire import kube_json

# The CRD's bound is twice that; half an hour of changes every two seconds.
CHANGES_MAX = 1000


class LoadAutoscalerStatus(AutoscalerStatus, frozen=True, kw_only=True):
    """The status of an HPA and more."""

    reference: str = ""
    targets: str = ""
    history: "History | None" = None


class History(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`Memory` in the form of the CRD."""

    recommendations: tuple["PastRecommendation", ...] | None = None
    scale_up_events: tuple["PastChange", ...] = ()
    scale_down_events: tuple["PastChange", ...] = ()


class PastRecommendation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One recommendation."""

    replicas: int
    made_at_unix_seconds: float


class PastChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One change of the number of replicas; never negative."""

    replica_change: int
    happened_at_unix_seconds: float
    outdated: bool = False


class _Stored(msgspec.Struct, frozen=True):
    status: LoadAutoscalerStatus = LoadAutoscalerStatus()


def status_body(
    autoscaler: Autoscaler, status: AutoscalerStatus, memory: Memory, kind: WatchedKind
) -> bytes:
    """The autoscaler with its new status, for a PUT to `/status`."""
    if kind.has_column_texts or kind.keeps_history:
        status = extended(autoscaler, status, memory, kind)
    return msgspec.json.encode(msgspec.structs.replace(autoscaler, status=status))


def extended(
    autoscaler: Autoscaler, status: AutoscalerStatus, memory: Memory, kind: WatchedKind
) -> LoadAutoscalerStatus:
    """An HPA's status with what a LoadAutoscaler's has more."""
    fields = {name: getattr(status, name) for name in AutoscalerStatus.__struct_fields__}
    target = autoscaler.spec.scale_target_ref
    reference = f"{target.kind}/{target.name}"
    targets = printed_targets(metrics_of(autoscaler.spec), status.current_metrics or ())
    return LoadAutoscalerStatus(
        **fields,
        reference=reference if kind.has_column_texts else "",
        targets=targets if kind.has_column_texts else "",
        history=history_of(memory, autoscaler.spec.behavior) if kind.keeps_history else None,
    )


def history_of(memory: Memory, behavior: Behavior | None) -> History:
    """What of the memory can still decide anything, so that an hour's window stays a small status."""
    return History(
        recommendations=_deciding(
            memory.recommendations, is_up_stabilized=_stabilizes_up(behavior)
        ),
        scale_up_events=_changes(memory.scale_up_events),
        scale_down_events=_changes(memory.scale_down_events),
    )


def stored_memory(body: bytes) -> Memory:
    """The memory in a LoadAutoscaler as it was read. Raises `msgspec.DecodeError`."""
    history = kube_json.decode(body, _Stored).status.history
    if history is None:
        return Memory()
    recommendations = history.recommendations
    return Memory(
        recommendations=None
        if recommendations is None
        else tuple(
            Recommendation(replicas=each.replicas, made_at_unix_seconds=each.made_at_unix_seconds)
            for each in recommendations
        ),
        scale_up_events=_events(history.scale_up_events),
        scale_down_events=_events(history.scale_down_events),
    )


def _deciding(
    recommendations: tuple[Recommendation, ...] | None, *, is_up_stabilized: bool
) -> tuple[PastRecommendation, ...] | None:
    """Those that no later one outdoes: a window's highest (and lowest, where that counts) is always one of them."""
    if recommendations is None:
        return None
    kept: list[Recommendation] = []
    highest = lowest = None
    for each in sorted(recommendations, key=lambda one: -one.made_at_unix_seconds):
        is_higher = highest is None or each.replicas > highest
        is_lower = is_up_stabilized and (lowest is None or each.replicas < lowest)
        highest = each.replicas if is_higher else highest
        lowest = each.replicas if lowest is None or each.replicas < lowest else lowest
        if is_higher or is_lower:
            kept.append(each)
    return tuple(
        PastRecommendation(replicas=each.replicas, made_at_unix_seconds=each.made_at_unix_seconds)
        for each in reversed(kept)
    )


def _stabilizes_up(behavior: Behavior | None) -> bool:
    if behavior is None or behavior.scale_up is None:
        return False
    return bool(behavior.scale_up.stabilization_window_seconds)


def _changes(events: tuple[ScaleEvent, ...]) -> tuple[PastChange, ...]:
    if len(events) > CHANGES_MAX:
        events = tuple(sorted(events, key=lambda one: one.happened_at_unix_seconds)[-CHANGES_MAX:])
    return tuple(
        PastChange(
            replica_change=each.replica_change,
            happened_at_unix_seconds=each.happened_at_unix_seconds,
            outdated=each.outdated,
        )
        for each in events
    )


def _events(changes: tuple[PastChange, ...]) -> tuple[ScaleEvent, ...]:
    return tuple(
        ScaleEvent(
            replica_change=each.replica_change,
            happened_at_unix_seconds=each.happened_at_unix_seconds,
            outdated=each.outdated,
        )
        for each in changes
    )
