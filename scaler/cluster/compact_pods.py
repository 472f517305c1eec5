"""Keeps pods small: only what the algorithm reads, and only once what the pods of a template share.

A cluster may have 100,000 pods. As kube-apiserver sends them they take kilobytes each, most of it equal for
all pods of a Deployment: the labels, the containers and their requests.
"""

from sys import intern

import msgspec
from cachetools import LRUCache

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

# What is forgotten is only stored once more.
TEMPLATES_MAX = 50_000

WITHOUT_ANNOTATIONS = PodAnnotations()

_Labels = dict[str, str]


class PodCompactor:
    """Makes pods small. It remembers the labels, owners and specs that were used last, to share them."""

    def __init__(self) -> None:
        self._labels: LRUCache[frozenset[tuple[str, str]], _Labels] = LRUCache(TEMPLATES_MAX)
        self._owners: LRUCache[OwnerReference, tuple[OwnerReference, ...]] = LRUCache(TEMPLATES_MAX)
        self._specs: LRUCache[bytes, PodSpec] = LRUCache(TEMPLATES_MAX)

    def compact(self, pod: Pod) -> Pod:
        """An equal pod, as far as the algorithm is concerned."""
        metadata, status = pod.metadata, pod.status
        return Pod(
            metadata=PodMetadata(
                name=metadata.name,
                namespace=intern(metadata.namespace),
                resource_version=metadata.resource_version,
                labels=self._shared_labels(metadata.labels),
                annotations=WITHOUT_ANNOTATIONS
                if metadata.annotations == WITHOUT_ANNOTATIONS
                else metadata.annotations,
                owner_references=self._shared_owners(metadata.owner_references),
                # Read only of pods that have not been started.
                creation_timestamp=None if status.start_time else metadata.creation_timestamp,
                deletion_timestamp=metadata.deletion_timestamp,
            ),
            spec=self._shared_spec(pod.spec),
            status=PodStatus(
                phase=intern(status.phase),
                start_time=status.start_time,
                conditions=tuple(
                    PodCondition(
                        type=intern(each.type),
                        status=intern(each.status),
                        last_transition_time=each.last_transition_time,
                    )
                    for each in status.conditions or ()
                    if each.type == "Ready"
                ),
                container_statuses=resized_containers(pod),
                resources=resized_resources(pod),
            ),
        )

    def _shared_labels(self, labels: _Labels) -> _Labels:
        key = frozenset(labels.items())
        shared = self._labels.get(key)
        if shared is None:
            shared = self._labels[key] = {intern(name): value for name, value in labels.items()}
        return shared

    def _shared_owners(
        self, references: tuple[OwnerReference, ...] | None
    ) -> tuple[OwnerReference, ...]:
        """Only the controller: the pods of a ReplicaSet have the same."""
        controller = controller_of(references)
        return () if controller is None else self._owners.setdefault(controller, (controller,))

    def _shared_spec(self, spec: PodSpec) -> PodSpec:
        return self._specs.setdefault(msgspec.msgpack.encode(spec), spec)
