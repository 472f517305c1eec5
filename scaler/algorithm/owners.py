"""Which pods a target owns: those from which the chain of controllers leads to it."""

from collections.abc import Mapping, Sequence

import msgspec

from scaler.algorithm.observed import OwnerReference, Pod
from scaler.api.autoscaler import AutoscalerSpec
from scaler.api.extension_spec import PodSelectionPolicy

INPUT = "podSelection"
"""The name of the `Owners` among the inputs for extensions."""

# Deployment, ReplicaSet, Pod: one kind between. No known workload has more than two.
OWNERS_MAX = 4


class Owners(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of the owners of the pods that a selector matches."""

    target_uid: str
    controllers: Mapping[str, str] = {}
    """The uid of the controller of each object between the pods and the target, by the uid of that object."""
    problem: str = ""
    """Why the owner of a live pod is not known."""


def selects_owned(spec: AutoscalerSpec) -> bool:
    """Whether only pods that the target owns count."""
    return spec.pod_selection == PodSelectionPolicy.OWNED


def controller_of(references: Sequence[OwnerReference] | None) -> OwnerReference | None:
    """The one owner that controls an object (apimachinery's `GetControllerOf`)."""
    return next((each for each in references or () if each.controller), None)


def owned(pods: Sequence[Pod], owners: Owners) -> tuple[Pod, ...]:
    """Those whose controller, or the controller of that, is the target."""
    return tuple(
        each
        for each in pods
        if (controller := controller_of(each.metadata.owner_references)) is not None
        and _leads_to_target(controller.uid, owners)
    )


def _leads_to_target(uid: str, owners: Owners) -> bool:
    for _ in range(OWNERS_MAX):
        if not uid:
            return False
        if uid == owners.target_uid:
            return True
        uid = owners.controllers.get(uid, "")
    return False
