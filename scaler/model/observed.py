"""What is, before any metric was asked: the autoscaler, its target's scale, the target's pods."""

from datetime import datetime

import msgspec

from scaler.model.autoscaler import Autoscaler
from wire.meta import ObjectMeta


class _Json(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Only the fields that the algorithm reads: pods are many, and decoding them is the cost."""


class ResourceRequirements(_Json, frozen=True, kw_only=True):
    """The requests, by resource name, as quantity text."""

    requests: dict[str, str] | None = None


class Container(_Json, frozen=True, kw_only=True):
    """A container; an init container with `restartPolicy: Always` is a sidecar."""

    name: str
    restart_policy: str | None = None
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(_Json, frozen=True, kw_only=True):
    """What the pod asks for."""

    containers: tuple[Container, ...] | None = ()
    init_containers: tuple[Container, ...] | None = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, str] | None = None


class PodCondition(_Json, frozen=True, kw_only=True):
    """A condition of a pod; only `Ready` is looked at."""

    type: str
    status: str
    last_transition_time: datetime | None = None


class PodStatus(_Json, frozen=True, kw_only=True):
    """How far the pod is."""

    phase: str = ""
    start_time: datetime | None = None
    conditions: tuple[PodCondition, ...] | None = ()


class Pod(_Json, frozen=True, kw_only=True):
    """A pod of the autoscaler's namespace."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class ScaleView(msgspec.Struct, frozen=True, kw_only=True):
    """The target's Scale subresource as it was read. `selector` is its text form, possibly empty."""

    spec_replicas: int
    status_replicas: int = 0
    selector: str = ""
    resource_version: str = ""


class ScaleUnavailable(msgspec.Struct, frozen=True, kw_only=True):
    """The Scale could not be read.

    `message` is the bare error (what upstream calls `err`). `context` is what upstream puts before
    it in the reconcile's own error ("failed to query scale subresource for Deployment/ns/name");
    `spec_error` tells a wrong `scaleTargetRef` from trouble with the cluster.
    """

    message: str
    context: str = "failed to query scale subresource"
    spec_error: bool = False


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known before metrics.

    `pods` (those of the namespace that match the scale's selector, all phases, terminating ones
    too) and `controlled_by` (`namespace/name` of every autoscaler of the namespace whose stored
    selector matches one of those pods, normally just this one) are read only when
    `recommend.branch.wants_metrics` says so.
    """

    autoscaler: Autoscaler
    scale: ScaleView | ScaleUnavailable
    pods: tuple[Pod, ...] = ()
    controlled_by: tuple[str, ...] = ()
