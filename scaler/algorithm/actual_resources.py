"""What an in-place resize has changed so far: the requests that containers have, where they differ from their specs.

A resize changes the spec at once, and the node follows later, or never if it has no capacity. `status.containerStatuses[].resources`
and `status.resources` are what it has applied; `allocatedResources`, what it has only agreed to, is not read.
"""

from collections.abc import Iterator, Mapping

import msgspec

from scaler.algorithm.observed import Container, ContainerStatus, Pod, PodSpec, ResourceRequirements

_Requests = Mapping[str, str]


def with_actual_requests(pod: Pod) -> Pod:
    """The pod with the requests that it has in place of those of its spec; the same object if they do not differ."""
    containers = {each.name: each.resources for each in resized_containers(pod)}
    resources = resized_resources(pod)
    if not containers and resources is None:
        return pod
    spec = pod.spec
    changed = PodSpec(
        containers=_actual(spec.containers, containers),
        init_containers=_actual(spec.init_containers, containers),
        resources=_merged(spec.resources, resources),
        overhead=spec.overhead,
    )
    return msgspec.structs.replace(pod, spec=changed)


def resized_containers(pod: Pod) -> tuple[ContainerStatus, ...]:
    """The containers and sidecars that have other requests than the spec says."""
    spec, status = pod.spec, pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return ()
    wanted = {each.name: each.resources for each in _running(spec)}
    return tuple(
        ContainerStatus(name=each.name, resources=each.resources)
        for each in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
        if each.name in wanted and _differs(wanted[each.name], each.resources)
    )


def resized_resources(pod: Pod) -> ResourceRequirements | None:
    """The requests of the whole pod, if they are others than the spec says."""
    wanted, found = pod.spec.resources, pod.status.resources
    return found if wanted is not None and _differs(wanted, found) else None


def _running(spec: PodSpec) -> Iterator[Container]:
    yield from spec.containers or ()
    yield from (each for each in spec.init_containers or () if each.restart_policy == "Always")


def _differs(wanted: ResourceRequirements, found: ResourceRequirements | None) -> bool:
    """Compared as text, because kube-apiserver writes equal quantities equally."""
    requests = (found.requests if found is not None else None) or {}
    return any(
        requests.get(resource, amount) != amount
        for resource, amount in (wanted.requests or {}).items()
    )


def _actual(
    containers: tuple[Container, ...] | None, found: Mapping[str, ResourceRequirements | None]
) -> tuple[Container, ...]:
    return tuple(
        msgspec.structs.replace(
            each, resources=_merged(each.resources, found.get(each.name)) or each.resources
        )
        for each in containers or ()
    )


def _merged(
    wanted: ResourceRequirements | None, found: ResourceRequirements | None
) -> ResourceRequirements | None:
    """Only what the spec requests: a request that it no longer has, has no utilization."""
    if wanted is None or found is None:
        return wanted
    requests = found.requests or {}
    return ResourceRequirements(
        requests={
            resource: requests.get(resource, amount)
            for resource, amount in (wanted.requests or {}).items()
        }
    )
