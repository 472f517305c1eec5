"""The target of `explain`: a path of the metrics APIs, or an autoscaler, whose metrics are paths.

The paths are those that the HPA controller requests (k8s.io/metrics pkg/client).
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from wire.api import kube_json
from wire.api.labels import from_label_selector
from wire.api.loadline import API_VERSION as LOADLINE
from wire.api.meta import LabelSelector
from wire.api.status import StatusError, not_found
from wire.kube.client import KubeClient
from wire.kube.mapper import NoMatchError, RestMapper

KINDS: Final[Mapping[str, str]] = {
    "hpa": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers/{}",
    "la": f"/apis/{LOADLINE}/namespaces/{{}}/loadautoscalers/{{}}",
}
CUSTOM: Final = "/apis/custom.metrics.k8s.io/v1beta2"
EXTERNAL: Final = "/apis/external.metrics.k8s.io/v1beta1"
USAGE: Final = "/apis/metrics.k8s.io/v1beta1"


class Autoscaler(msgspec.Struct, frozen=True):
    """`namespace/name`, `hpa/namespace/name` or `la/namespace/name`; without a kind, whichever exists."""

    namespace: str
    name: str
    kinds: tuple[str, ...] = tuple(KINDS)


class MetricPath(msgspec.Struct, frozen=True):
    """One metric of the target, and the path at which it is requested."""

    title: str
    path: str
    resource: str = ""  # cpu or memory, of which the request returns both


def target_of(text: str) -> Autoscaler | str:
    """An autoscaler, or a path as it is; raises `ValueError` with the fix."""
    if text.startswith("/"):
        return text
    match text.split("/"):
        case [kind, namespace, name] if kind in KINDS and namespace and name:
            return Autoscaler(namespace, name, (kind,))
        case [namespace, name] if namespace and name:
            return Autoscaler(namespace, name)
    raise ValueError(
        f"{text!r} is neither a path (/apis/...) nor an autoscaler (NAMESPACE/NAME, hpa/NAMESPACE/NAME, la/NAMESPACE/NAME)"
    )


# --- the part of an autoscaler that its requests depend on ------------------------------------------------------------


class _Named(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    api_version: str = ""

    @property
    def group(self) -> str:
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


class _Identifier(msgspec.Struct, frozen=True):
    name: str = ""
    selector: LabelSelector | None = None


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""  # of Resource and ContainerResource
    metric: _Identifier = _Identifier()
    described_object: _Named = _Named()


class Metric(msgspec.Struct, frozen=True, rename="camel"):
    """One entry of `spec.metrics`."""

    type: str = ""
    pods: _Source = _Source()
    object: _Source = _Source()
    external: _Source = _Source()
    resource: _Source = _Source()
    container_resource: _Source = _Source()


_CPU: Final = Metric(type="Resource", resource=_Source(name="cpu"))
"""The metric of an autoscaler without metrics."""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    scale_target_ref: _Named
    metrics: tuple[Metric, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    spec: _Spec


class _ScaleStatus(msgspec.Struct, frozen=True):
    selector: str = ""


class _Scale(msgspec.Struct, frozen=True):
    status: _ScaleStatus = _ScaleStatus()


async def metric_paths(
    autoscaler: Autoscaler, client: KubeClient, mapper: RestMapper
) -> tuple[MetricPath, ...]:
    """The requests of an autoscaler. A formula has none of its own: its inputs are other metrics of the spec.

    Raises `StatusError` and `Unavailable`.
    """
    spec = await _spec(autoscaler, client)
    selector = await _target_selector(autoscaler.namespace, spec.scale_target_ref, client, mapper)
    return tuple(
        _metric_path(metric, autoscaler.namespace, selector, mapper)
        for metric in spec.metrics or (_CPU,)
        if metric.type != "Formula"
    )


async def _spec(autoscaler: Autoscaler, client: KubeClient) -> _Spec:
    names = (quote(autoscaler.namespace, safe=""), quote(autoscaler.name, safe=""))
    for kind in autoscaler.kinds:
        try:
            body = await client.get(KINDS[kind].format(*names))
        except StatusError as error:
            if error.code != 404:
                raise
            continue
        return kube_json.decode(body, _Object).spec
    kinds = " and no ".join(autoscaler.kinds)
    raise not_found(
        f"there is no {kinds} {autoscaler.namespace}/{autoscaler.name}: see kubectl get hpa,la -A"
    )


async def _target_selector(
    namespace: str, target: _Named, client: KubeClient, mapper: RestMapper
) -> str:
    """The selector of the target's pods, from its Scale."""
    try:
        resource = mapper.resources_for_kind(target.group, target.kind)[0]
    except NoMatchError as error:
        raise not_found(f"the scale target {target.kind}/{target.name}: {error}") from None
    path = f"{resource.path(quote(namespace, safe=''))}/{quote(target.name, safe='')}/scale"
    return kube_json.decode(await client.get(path), _Scale).status.selector


def _metric_path(metric: Metric, namespace: str, selector: str, mapper: RestMapper) -> MetricPath:
    inside = f"namespaces/{quote(namespace, safe='')}"
    match metric.type:
        case "Pods":
            named = metric.pods.metric
            path = f"{CUSTOM}/{inside}/pods/*/{quote(named.name, safe='')}"
            return MetricPath(
                f"Pods metric {named.name}",
                path + _query(labelSelector=selector, metricLabelSelector=_text(named)),
            )
        case "Object":
            return _of_object(metric.object, inside, mapper)
        case "External":
            named = metric.external.metric
            path = f"{EXTERNAL}/{inside}/{quote(named.name, safe='')}"
            return MetricPath(
                f"External metric {named.name}", path + _query(labelSelector=_text(named))
            )
    source = metric.resource if metric.type == "Resource" else metric.container_resource
    return MetricPath(
        f"{metric.type} metric {source.name}",
        f"{USAGE}/{inside}/pods{_query(labelSelector=selector)}",
        source.name,
    )


def _of_object(source: _Source, inside: str, mapper: RestMapper) -> MetricPath:
    described, named = source.described_object, source.metric
    title = f"Object metric {named.name} of {described.kind}/{described.name}"
    metric = quote(named.name, safe="")
    if described.kind == "Namespace" and not described.group:
        path = f"{CUSTOM}/{inside}/metrics/{metric}"
        return MetricPath(title, path + _query(metricLabelSelector=_text(named)))
    try:
        found = mapper.resources_for_kind(described.group, described.kind)[0]
        resource = f"{found.name}.{found.group}" if found.group else found.name
    except NoMatchError:
        resource = (
            described.kind.lower()
        )  # the explanation then says that the cluster does not have it
    path = f"{CUSTOM}/{inside}/{resource}/{quote(described.name, safe='')}/{metric}"
    return MetricPath(title, path + _query(metricLabelSelector=_text(named)))


def _text(named: _Identifier) -> str:
    return str(from_label_selector(named.selector)) if named.selector else ""


def _query(**parameters: str) -> str:
    given = {name: text for name, text in parameters.items() if text}
    return f"?{urlencode(given)}" if given else ""
