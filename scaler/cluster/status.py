"""What is written into an autoscaler's status, and read back from it after a restart.

A HorizontalPodAutoscaler gets what kube-controller-manager would write. A LoadAutoscaler also gets the texts of
kubectl's columns, and the memory, which must survive a restart: without it the first low reading could
shrink what a window still holds up, and every policy would start a new period.
"""

import msgspec

from scaler.algorithm.conditions import RESCALED
from scaler.algorithm.memory import StoredMemory
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus, Condition, metrics_of
from scaler.api.history import History, ScaleEvent
from scaler.api.kinds import WatchedKind
from scaler.cluster.targets_column import printed_targets
from wire.api import kube_json
from wire.api.meta import ObjectMeta

# The CRD allows twice as many; half an hour of changes every two seconds.
ENTRIES_MAX = 1000


class LoadAutoscalerStatus(AutoscalerStatus, frozen=True, kw_only=True):
    """The status of an HPA, and what only a LoadAutoscaler has."""

    reference: str = ""
    targets: str = ""
    history: History | None = None


class _StoredStatus(msgspec.Struct, frozen=True, rename="camel"):
    current_replicas: int = 0
    desired_replicas: int = 0
    conditions: tuple[Condition, ...] | None = None
    history: History | None = None

    @property
    def known_replicas(self) -> tuple[int, ...]:
        """The counts that the target may have had when it was written; after a rescale, only the desired one.

        Empty if the Scale has never been read: then both are 0, and nothing was recommended.
        """
        was_recommended = self.history is not None and self.history.recommendations is not None
        if not (self.desired_replicas or self.current_replicas or was_recommended):
            return ()
        if any(each.reason == RESCALED for each in self.conditions or ()):
            return (self.desired_replicas,)
        return self.desired_replicas, self.current_replicas


class _Stored(msgspec.Struct, frozen=True):
    status: _StoredStatus = _StoredStatus()


def status_body(
    autoscaler: Autoscaler, status: AutoscalerStatus, history: History, kind: WatchedKind
) -> bytes:
    """The autoscaler with its new status, for a PUT to `/status`."""
    if kind.has_column_texts or kind.keeps_history:
        status = extended(autoscaler, status, history, kind)
    return msgspec.json.encode(msgspec.structs.replace(autoscaler, status=status))


def extended(
    autoscaler: Autoscaler, status: AutoscalerStatus, history: History, kind: WatchedKind
) -> LoadAutoscalerStatus:
    """An HPA's status with what this kind has in addition."""
    fields = {name: getattr(status, name) for name in AutoscalerStatus.__struct_fields__}
    target = autoscaler.spec.scale_target_ref
    reference = f"{target.kind}/{target.name}"
    targets = printed_targets(metrics_of(autoscaler.spec), status.current_metrics or ())
    return LoadAutoscalerStatus(
        **fields,
        reference=reference if kind.has_column_texts else "",
        targets=targets if kind.has_column_texts else "",
        history=_limited(history) if kind.keeps_history else None,
    )


def stored_memory(body: bytes) -> StoredMemory:
    """The memory in a LoadAutoscaler as it was read. Raises `msgspec.DecodeError`.

    A history in another form, from another version, is ignored: the autoscaler then starts like a new one.
    """
    try:
        status = kube_json.decode(body, _Stored).status
    except msgspec.ValidationError:
        return StoredMemory()
    if status.history is None:
        return StoredMemory()
    return StoredMemory(history=status.history, known_replicas=status.known_replicas)


def _limited(history: History) -> History:
    """No more entries than the CRD allows, or every write of the status would be rejected."""
    steps = history.recommendations
    return msgspec.structs.replace(
        history,
        recommendations=None if steps is None else steps[-ENTRIES_MAX:],
        scale_up_events=_newest(history.scale_up_events),
        scale_down_events=_newest(history.scale_down_events),
    )


def _newest(events: tuple[ScaleEvent, ...]) -> tuple[ScaleEvent, ...]:
    if len(events) <= ENTRIES_MAX:
        return events
    return tuple(sorted(events, key=lambda one: one.happened_at_unix_seconds)[-ENTRIES_MAX:])


class _Versioned(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def written_version(body: bytes, autoscaler: Autoscaler) -> str:
    """Of the object in the API server's answer, so that a second write does not conflict."""
    try:
        written = kube_json.decode(body, _Versioned).metadata.resource_version
    except msgspec.DecodeError:
        written = ""
    return written or autoscaler.metadata.resource_version
