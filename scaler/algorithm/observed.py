"""What was observed before any metric was requested: the autoscaler, its target's scale, the target's pods.

Pods have only the fields that the algorithm reads, because there are many to decode and keep.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from scaler.api.autoscaler import Autoscaler
from scaler.api.json_object import JsonObject

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
OWN_DELETION_COST = "loadline.io/pod-deletion-cost"
"""The deletion cost that the scaler has set: another client has set every other cost."""


class PodAnnotations(JsonObject, frozen=True, kw_only=True):
    """The only annotations that are read, because those of many pods are long."""

    deletion_cost: str = msgspec.field(default="", name=DELETION_COST)
    own_deletion_cost: str = msgspec.field(default="", name=OWN_DELETION_COST)


# Shared by pods through weak references, which Python allows only to what its garbage collector checks.
class OwnerReference(JsonObject, frozen=True, kw_only=True, gc=True, weakref=True):
    """An object that an object belongs to; at most one of them controls it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class PodMetadata(JsonObject, frozen=True, kw_only=True):
    """The pod's name, its labels, its owners, and whether it is being deleted."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: PodAnnotations = PodAnnotations()
    owner_references: tuple[OwnerReference, ...] | None = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class ResourceRequirements(JsonObject, frozen=True, kw_only=True):
    """The requests, by resource name, as quantity text."""

    requests: dict[str, str] | None = None


class Container(JsonObject, frozen=True, kw_only=True):
    """A container; an init container with `restartPolicy: Always` is a sidecar."""

    name: str
    restart_policy: str | None = None
    resources: ResourceRequirements = ResourceRequirements()


# As `OwnerReference`.
class PodSpec(JsonObject, frozen=True, kw_only=True, gc=True, weakref=True):
    """The containers and what they request. Not if it `was_too_large` to be kept."""

    containers: tuple[Container, ...] | None = ()
    init_containers: tuple[Container, ...] | None = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, str] | None = None
    was_too_large: bool = False


class PodCondition(JsonObject, frozen=True, kw_only=True):
    """A condition of a pod; only `Ready` is read."""

    type: str
    status: str
    last_transition_time: datetime | None = None


class ContainerStatus(JsonObject, frozen=True, kw_only=True):
    """What a container has been given; `resources` is None before it runs, and if its node does not report them."""

    name: str
    resources: ResourceRequirements | None = None


class PodStatus(JsonObject, frozen=True, kw_only=True):
    """The phase, start time and conditions, and the resources while they differ from those of the spec."""

    phase: str = ""
    start_time: datetime | None = None
    conditions: tuple[PodCondition, ...] | None = ()
    container_statuses: tuple[ContainerStatus, ...] | None = ()
    init_container_statuses: tuple[ContainerStatus, ...] | None = ()
    resources: ResourceRequirements | None = None


class Pod(JsonObject, frozen=True, kw_only=True):
    """A pod of the autoscaler's namespace."""

    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_live(self) -> bool:
        """Whether it is neither finished nor terminating."""
        is_finished = self.status.phase in ("Failed", "Succeeded")
        return self.metadata.deletion_timestamp is None and not is_finished


class ScaleView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The target's Scale subresource as it was read. `selector` is its text form, possibly empty."""

    spec_replicas: int
    status_replicas: int = 0
    selector: str = ""
    resource_version: str = ""


class ScaleUnavailable(msgspec.Struct, frozen=True, kw_only=True):
    """The Scale could not be read.

    `message` is the bare error (upstream's `err`). `context` is what upstream puts before it in the
    reconcile's own error ("failed to query scale subresource for Deployment/ns/name"). `spec_error` is
    True when the `scaleTargetRef` is wrong, False when the cluster failed.
    """

    message: str
    context: str = "failed to query scale subresource"
    spec_error: bool = False


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at the start of a reconcile.

    `rivals` are the first other autoscalers that name the same target, as `Kind namespace/name`; only kinds that
    yield to others read them.
    """

    autoscaler: Autoscaler
    scale: ScaleView | ScaleUnavailable
    rivals: tuple[str, ...] = ()
    has_left_zero: bool = False
    """Whether the target is at a zero that the scaler has set for an autoscaler which was deleted since."""
    outdated: str | None = None
    """Why the cached objects may be out of date, so that nothing may be scaled down; None while they are not."""
    inputs: Mapping[str, Any] = {}
    """What was read for extensions, by their names."""
    period_replicas: int | None = None
    """The count at the beginning of the period, for a reconcile that was brought forward: without `behavior`, what one period may
    add counts from it. None for any other reconcile."""


class TargetPods(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pods of the namespace that the scale's selector matches: all phases, terminating ones too.

    `controlled_by` is `namespace/name` of every autoscaler of the namespace whose stored selector matches
    one of these pods; normally that is only the autoscaler itself.
    """

    pods: tuple[Pod, ...] = ()
    controlled_by: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = {}
    """What was read about them for extensions, by their names."""

    @property
    def are_ambiguous(self) -> bool:
        """Whether several autoscalers control these pods, so that none of them may scale."""
        return len(self.controlled_by) > 1
