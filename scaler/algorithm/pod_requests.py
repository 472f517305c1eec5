"""What the pods ask for, the base of a utilization (upstream's `calculateRequests`).

Requests come from the spec, never from a resized status. One pod without a request makes the whole
metric unusable, also when that pod does not count otherwise.
"""

from collections.abc import Mapping, Sequence

from scaler.algorithm.amounts import milli, quantity
from scaler.algorithm.go_numbers import int64
from scaler.algorithm.observed import Container, Pod
from scaler.algorithm.unusable import MetricUnusable
from wire.api.quantity import Quantity

_POD_LEVEL_RESOURCES = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def pod_requests(
    pods: Sequence[Pod], *, resource: str, container: str, pod_level_resources: bool
) -> dict[str, int]:
    """Every pod's request in thousandths; `container` empty means the whole pod. Raises MetricUnusable."""
    # Pods of one template share their spec: its containers are added up once. It exists while `pods` does.
    known: dict[int, int] = {}
    requests: dict[str, int] = {}
    for pod in pods:
        request = known.get(id(pod.spec))
        if request is None:
            request = _request(pod, resource, container, pod_level_resources)
            known[id(pod.spec)] = request
        requests[pod.metadata.name] = request
    return requests


def _request(pod: Pod, resource: str, container: str, pod_level_resources: bool) -> int:
    if pod.spec.was_too_large:
        raise MetricUnusable(
            f"the containers of Pod {pod.metadata.name} are too large for its requests to be read: have fewer of them"
        )
    if pod_level_resources and not container and _has_pod_level_requests(pod):
        return _pod_level_request(pod, resource)
    return _container_requests(pod, resource, container)


def _container_requests(pod: Pod, resource: str, container: str) -> int:
    """The sum over containers and sidecars, or the one named container."""
    sidecars = [each for each in pod.spec.init_containers or () if _is_sidecar(each)]
    total = 0
    for each in (*(pod.spec.containers or ()), *sidecars):
        if container and each.name != container:
            continue
        requested = (each.resources.requests or {}).get(resource)
        if requested is None:
            raise MetricUnusable(
                f"missing request for {resource} in container {each.name} of Pod {pod.metadata.name}"
            )
        total = int64(total + milli(requested))
        if container:
            return total
    if container:
        raise MetricUnusable(f"container {container} not found in Pod {pod.metadata.name}")
    return total


def _pod_level_request(pod: Pod, resource: str) -> int:
    """What a node reserves for the pod: its own request or the containers' need, plus the overhead."""
    own = pod.spec.resources.requests if pod.spec.resources else None
    if own and resource in own and _is_pod_level_resource(resource):
        request: Quantity | None = quantity(own[resource])
    else:
        request = _needed_by_containers(pod, resource)
    request = _plus(request, pod.spec.overhead, resource)
    if request is None:
        raise MetricUnusable(f"missing pod-level request for {resource} in Pod {pod.metadata.name}")
    return request.milli_value_int64()


def _needed_by_containers(pod: Pod, resource: str) -> Quantity | None:
    """Containers and sidecars together, but at least what an init container needs while it runs.

    KEP-753: an init container runs beside the sidecars that were started before it.
    """
    together: Quantity | None = None
    for container in pod.spec.containers or ():
        together = _plus(together, container.resources.requests, resource)
    sidecars: Quantity | None = None
    starting: Quantity | None = None
    for container in pod.spec.init_containers or ():
        if _is_sidecar(container):
            together = _plus(together, container.resources.requests, resource)
            sidecars = _plus(sidecars, container.resources.requests, resource)
            needed = sidecars
        else:
            needed = _plus(sidecars, container.resources.requests, resource)
        starting = _larger(starting, needed)
    return _larger(together, starting)


def _plus(
    total: Quantity | None, requests: Mapping[str, str] | None, resource: str
) -> Quantity | None:
    text = (requests or {}).get(resource)
    if text is None:
        return total
    return quantity(text) if total is None else total + quantity(text)


def _larger(left: Quantity | None, right: Quantity | None) -> Quantity | None:
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _has_pod_level_requests(pod: Pod) -> bool:
    requests = pod.spec.resources.requests if pod.spec.resources else None
    return any(_is_pod_level_resource(name) for name in requests or ())


def _is_pod_level_resource(name: str) -> bool:
    return name in _POD_LEVEL_RESOURCES or name.startswith(_HUGE_PAGES)
