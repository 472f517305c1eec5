"""Events on the autoscaler, with the HPA controller's reasons and messages, from the component `loadline-scaler`."""

from scaler.algorithm.decision import Event
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.cluster.events.recorder import EventRecorder
from wire.api.meta import ObjectReference

COMPONENT = "loadline-scaler"


class Events:
    """Writes them to the cluster, correlated as client-go does."""

    def __init__(self, recorder: EventRecorder, kind: WatchedKind) -> None:
        self._recorder = recorder
        self._kind = kind

    def emit(self, autoscaler: Autoscaler, event: Event) -> None:
        """Queue it; what cannot be written is dropped, as upstream."""
        metadata = autoscaler.metadata
        involved = ObjectReference(
            api_version=self._kind.api_version,
            kind=self._kind.kind,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )
        self._recorder.event(involved, event.type.value, event.reason, event.message)
