"""PURE  The data model of scenarios: the objects in the cluster and the responses of the metrics APIs, step by step."""

from collections.abc import Mapping
from typing import Any

import msgspec

Spec = Mapping[str, Any]
"""The spec of a HorizontalPodAutoscaler (autoscaling/v2) without its scaleTargetRef."""

HOUR_SECONDS = 3600.0
SCRIPTED_REF = {"apiVersion": "testbed.loadline.io/v1", "kind": "Scripted", "name": "target"}


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a state."""


class ErrorResponse(_Part, frozen=True, kw_only=True):
    """An error response: a meta/v1 Status, or only the message as text if `plain`."""

    code: int = 500
    reason: str = "InternalError"
    message: str = "scripted failure"
    plain: bool = False


class Sample(_Part, frozen=True, kw_only=True):
    """One value of the custom or external metrics API; `name` is the described object's."""

    value: str
    name: str = ""
    age_seconds: float = 5.0
    window_seconds: int | None = None
    labels: Mapping[str, str] = {}


class Usage(_Part, frozen=True, kw_only=True):
    """One pod of the resource metrics API; `containers` is usage by container and resource."""

    pod: str
    containers: Mapping[str, Mapping[str, str]]
    age_seconds: float = 5.0
    window_seconds: int = 60


Responses = Mapping[str, tuple[Sample, ...] | ErrorResponse]
"""By request path: `pods/*/NAME`, `RESOURCE.GROUP/OBJECT/NAME`, `metrics/NAME` (of the namespace), `external/NAME`."""


class Container(_Part, frozen=True, kw_only=True):
    """A container and its resource requests; a sidecar is a restartable init container."""

    name: str = "app"
    requests: Mapping[str, str] = {}
    kind: str = "container"  # or "sidecar", "init"


class Pod(_Part, frozen=True, kw_only=True):
    """A pod as the kubelet would report it. Times are seconds ago."""

    name: str
    labels: Mapping[str, str] = msgspec.field(default_factory=lambda: {"app": "web"})
    containers: tuple[Container, ...] = (Container(requests={"cpu": "1", "memory": "1Gi"}),)
    requests: Mapping[str, str] | None = None  # pod-level resources
    phase: str = "Running"
    ready: str | None = "True"  # the status of the condition Ready; None: no condition
    started_seconds_ago: float | None = HOUR_SECONDS  # None: no startTime
    ready_changed_seconds_ago: float = HOUR_SECONDS - 10
    deleting: bool = False


class Scale(_Part, frozen=True, kw_only=True):
    """The scale target. `replicas` None keeps what the autoscaler wrote; `status` None follows the spec."""

    replicas: int | None = None
    status: int | None = None
    selector: str = "app=web"
    get: ErrorResponse | None = None
    put: tuple[ErrorResponse, ...] = ()  # errors of the next writes, in order


class Autoscaler(_Part, frozen=True, kw_only=True):
    """An autoscaler and its target; a scripted target has the autoscaler's name."""

    name: str = "web"
    spec: Spec
    scale: Scale
    ref: Mapping[str, str] | None = None  # None: the scripted target

    @property
    def target_ref(self) -> Mapping[str, str]:
        """The autoscaler's scaleTargetRef."""
        return self.ref or {**SCRIPTED_REF, "name": self.name}

    @property
    def is_scripted(self) -> bool:
        """Whether its reconciles pass a gate and can therefore be counted and timed."""
        ref = self.target_ref
        return (ref["kind"], ref["apiVersion"].split("/")[0]) == ("Scripted", "testbed.loadline.io")


class ClusterState(_Part, frozen=True, kw_only=True):
    """Everything that a reconcile reads."""

    autoscalers: tuple[Autoscaler, ...]
    pods: tuple[Pod, ...] = ()
    responses: Responses = {}
    usage: tuple[Usage, ...] | ErrorResponse = ()


class Step(_Part, frozen=True, kw_only=True):
    """A state, and the number of reconciles in it."""

    state: ClusterState
    reconciles: int = 2


class Scenario(_Part, frozen=True, kw_only=True):
    """A named sequence of steps; names are unique."""

    name: str
    category: str
    steps: tuple[Step, ...]

    @property
    def is_gated(self) -> bool:
        """Whether a side can be led reconcile by reconcile; otherwise both are observed until they agree.

        That needs a scripted target and a single autoscaler, since the reconciles of several interleave.
        """
        return all(
            len(step.state.autoscalers) == 1 and step.state.autoscalers[0].is_scripted
            for step in self.steps
        )
