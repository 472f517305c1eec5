"""Keeps pods small: only what the algorithm reads, and only once what the pods of a template share.

A cluster may have 100,000 pods. As kube-apiserver sends them they take kilobytes each, most of it equal for
all pods of a Deployment: the labels, the containers and their requests. What is shared exists as long as one of its pods.

A pod may have 1.5 MB of labels or containers, which would take ten times as much here: what no pod has that runs is not kept.
"""

from collections.abc import Iterable
from sys import intern
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from scaler.algorithm.actual_resources import resized_containers, resized_resources
from scaler.algorithm.observed import (
    OwnerReference,
    Pod,
    PodAnnotations,
    PodCondition,
    PodMetadata,
    PodSpec,
    PodStatus,
)
from scaler.algorithm.owners import controller_of

# Of one pod, encoded. A container with requests of two resources and a long name takes about 100.
SPEC_BYTES_MAX: Final = 16_384
# Each takes about 600 bytes here, with its indexes. A pod with more has none.
LABELS_MAX: Final = 128
# Names of objects have at most 253, and so have groups; an owner with longer ones does not exist.
OWNER_CHARACTERS_MAX: Final = 1_024
# A deletion cost is an int32.
DELETION_COST_CHARACTERS_MAX: Final = 16

WITHOUT_ANNOTATIONS = PodAnnotations()
_TOO_LARGE: Final = PodSpec(was_too_large=True)


class _Labels(dict[str, str]):
    """Unlike a dict, it can be referenced weakly."""

    __slots__ = ("__weakref__",)


_WITHOUT_LABELS: Final = _Labels()


class PodCompactor:
    """Makes pods small, and knows the labels, owners and specs of those that exist, to share them."""

    def __init__(self) -> None:
        self._labels: WeakValueDictionary[frozenset[tuple[str, str]], _Labels] = (
            WeakValueDictionary()
        )
        self._owners: WeakValueDictionary[tuple[str, ...], OwnerReference] = WeakValueDictionary()
        self._specs: WeakValueDictionary[bytes, PodSpec] = WeakValueDictionary()

    def __len__(self) -> int:
        """How many values there are to share."""
        return len(self._labels) + len(self._owners) + len(self._specs)

    def compact(self, pod: Pod) -> Pod:
        """An equal pod, as far as the algorithm is concerned."""
        metadata, status = pod.metadata, pod.status
        spec = self._shared_spec(pod.spec)
        # Otherwise the statuses of its containers would be kept.
        with_spec = msgspec.structs.replace(pod, spec=spec) if spec is _TOO_LARGE else pod
        return Pod(
            metadata=PodMetadata(
                name=metadata.name,
                namespace=intern(metadata.namespace),
                resource_version=metadata.resource_version,
                labels=self._shared_labels(metadata.labels),
                annotations=_annotations(metadata.annotations),
                owner_references=self._shared_owners(metadata.owner_references),
                # Read only of pods that have not been started.
                creation_timestamp=None if status.start_time else metadata.creation_timestamp,
                deletion_timestamp=metadata.deletion_timestamp,
            ),
            spec=spec,
            status=PodStatus(
                phase=intern(status.phase),
                start_time=status.start_time,
                conditions=tuple(_ready(status.conditions or ())),
                container_statuses=resized_containers(with_spec),
                resources=resized_resources(with_spec),
            ),
        )

    def _shared_labels(self, labels: dict[str, str]) -> dict[str, str]:
        if not labels or len(labels) > LABELS_MAX:
            return _WITHOUT_LABELS
        key = frozenset(labels.items())
        shared = self._labels.get(key)
        if shared is None:
            shared = _Labels({intern(name): value for name, value in labels.items()})
            self._labels[key] = shared
        return shared

    def _shared_owners(
        self, references: tuple[OwnerReference, ...] | None
    ) -> tuple[OwnerReference, ...]:
        """Only the controller: the pods of a ReplicaSet have the same. A tuple cannot be referenced weakly."""
        controller = controller_of(references)
        if controller is None:
            return ()
        key = (controller.api_version, controller.kind, controller.name, controller.uid)
        if sum(map(len, key)) > OWNER_CHARACTERS_MAX:
            return ()
        return (self._owners.setdefault(key, controller),)

    def _shared_spec(self, spec: PodSpec) -> PodSpec:
        key = msgspec.msgpack.encode(spec)
        if len(key) > SPEC_BYTES_MAX:
            return _TOO_LARGE
        return self._specs.setdefault(key, spec)


def _annotations(found: PodAnnotations) -> PodAnnotations:
    if found == WITHOUT_ANNOTATIONS:
        return WITHOUT_ANNOTATIONS
    return PodAnnotations(
        deletion_cost=found.deletion_cost[:DELETION_COST_CHARACTERS_MAX],
        own_deletion_cost=found.own_deletion_cost[:DELETION_COST_CHARACTERS_MAX],
    )


def _ready(conditions: Iterable[PodCondition]) -> Iterable[PodCondition]:
    return (
        PodCondition(
            type=intern(each.type),
            status=intern(each.status),
            last_transition_time=each.last_transition_time,
        )
        for each in conditions
        if each.type == "Ready"
    )
