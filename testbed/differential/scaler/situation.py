"""PURE  The vocabulary of scenarios: what stands in the cluster and what the metrics APIs say, step by step."""

from collections.abc import Mapping
from typing import Any

import msgspec

Spec = Mapping[str, Any]
"""Of a HorizontalPodAutoscaler (autoscaling/v2), without its scaleTargetRef."""

HOUR_SECONDS = 3600.0
SCRIPTED_REF = {"apiVersion": "testbed.loadline.io/v1", "kind": "Scripted", "name": "target"}


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a situation."""


class Refusal(_Part, frozen=True, kw_only=True):
    """An error instead of an answer: a meta/v1 Status, or only the message as text when `plain`."""

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


Answers = Mapping[str, tuple[Sample, ...] | Refusal]
"""By question: `pods/*/NAME`, `RESOURCE.GROUP/OBJECT/NAME`, `metrics/NAME` (of the namespace), `external/NAME`."""


class Container(_Part, frozen=True, kw_only=True):
    """A container and its requests; a sidecar is an init container that keeps running."""

    name: str = "app"
    requests: Mapping[str, str] = {}
    kind: str = "container"  # or "sidecar", "init"


class Pod(_Part, frozen=True, kw_only=True):
    """A pod as the kubelet would describe it. Times are seconds ago."""

    name: str
    labels: Mapping[str, str] = msgspec.field(default_factory=lambda: {"app": "web"})
    containers: tuple[Container, ...] = (Container(requests={"cpu": "1", "memory": "1Gi"}),)
    requests: Mapping[str, str] | None = None  # pod-level resources
    phase: str = "Running"
    ready: str | None = "True"  # the status of the condition Ready; None: there is none
    started_seconds_ago: float | None = HOUR_SECONDS  # None: no startTime
    ready_changed_seconds_ago: float = HOUR_SECONDS - 10
    deleting: bool = False


class Scale(_Part, frozen=True, kw_only=True):
    """The scale target. `replicas` None leaves what the autoscaler wrote; `status` None follows the spec."""

    replicas: int | None = None
    status: int | None = None
    selector: str = "app=web"
    get: Refusal | None = None
    put: tuple[Refusal, ...] = ()  # for the next writes, one each


class Subject(_Part, frozen=True, kw_only=True):
    """An autoscaler and its target, which has the autoscaler's name when it is a scripted one."""

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
        """Whether its looks pass our gate, so that they can be counted and timed."""
        ref = self.target_ref
        return (ref["kind"], ref["apiVersion"].split("/")[0]) == ("Scripted", "testbed.loadline.io")


class Situation(_Part, frozen=True, kw_only=True):
    """Everything an autoscaler can see."""

    subjects: tuple[Subject, ...]
    pods: tuple[Pod, ...] = ()
    answers: Answers = {}
    usage: tuple[Usage, ...] | Refusal = ()


class Step(_Part, frozen=True, kw_only=True):
    """A situation, and how many looks it gets."""

    situation: Situation
    looks: int = 2


class Scenario(_Part, frozen=True, kw_only=True):
    """A named sequence of steps; names are unique and fit into the name of a namespace."""

    name: str
    category: str
    steps: tuple[Step, ...]

    @property
    def is_gated(self) -> bool:
        """Whether a side can be led look by look; otherwise it is awaited until both sides agree.

        It needs one autoscaler, because the looks of several pass each other, and a scripted target.
        """
        return all(
            len(step.situation.subjects) == 1 and step.situation.subjects[0].is_scripted
            for step in self.steps
        )
