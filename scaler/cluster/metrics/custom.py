"""Client of custom.metrics.k8s.io: metrics of pods and of single objects.

Upstream: `customMetricsClient` (podautoscaler/metrics/client.go) over the `custom_metrics` client of
k8s.io/metrics: paths, parameters, the choice of the version, and the wording of errors.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar
from urllib.parse import quote

import msgspec

from scaler.algorithm import samples
from scaler.algorithm.readings import Reading
from scaler.api.autoscaler import CrossVersionObjectReference
from scaler.cluster.failed_requests import worded
from scaler.cluster.metrics.metrics_api import MetricUnavailable, with_selectors, within_limit
from scaler.cluster.metrics.response_parts import decoded
from wire.api.custom_metrics import GROUP, MetricValue, MetricValueList, decode
from wire.api.labels import Selector
from wire.api.status import StatusError, Unavailable
from wire.kube.discovery_decoding import offered_versions
from wire.kube.mapper import ACCEPT_AGGREGATED, RestMapper
from wire.kube.mapping import Resource
from wire.kube.requests import Reader
from wire.process.single_flight import SingleFlight

T = TypeVar("T")

# The versions that we can decode, as upstream's MetricVersions.
KNOWN_VERSIONS = ("v1beta2", "v1beta1")
# Stands for the resource in the path of a metric of a Namespace.
OF_NAMESPACE = "metrics"
# As the name of an object in a path.
EVERY_OBJECT = "*"
# How long a metric waits for the version to be discovered again. Then the one that is known stays in use, without any wait until
# discovery responds: otherwise metrics that could be read would fail, and each reconcile would take as long as the deadline of a metric.
KNOWN_WAIT_SECONDS = 0.5
# A server that fails, or is busy, says nothing about versions.
SERVER_ERROR, TOO_MANY_REQUESTS = 500, 429


class PreferredVersion:
    """The version of the custom metrics API to use, discovered again every sync period.

    Upstream: `apiVersionsFromDiscovery`. A failure is not cached. If the server does not respond or fails, or something else responds, a
    version that is known stays in use.
    """

    def __init__(
        self,
        kube: Reader,
        *,
        period_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kube = kube
        self._period_seconds = period_seconds
        self._monotonic = monotonic
        self._version = ""
        self._responds = True
        self._discovered_at_seconds = 0.0
        self._discovery: SingleFlight[str, str] = SingleFlight()

    async def get(self) -> str:
        """`v1beta2` or `v1beta1`. Raises `MetricUnavailable`, `StatusError`, `Unavailable` and `msgspec.DecodeError`."""
        age_seconds = self._monotonic() - self._discovered_at_seconds
        if self._version and age_seconds < self._period_seconds:
            return self._version
        if not self._version:
            return await self._discovery.do("", self._discover)
        if not self._responds:
            self._discovery.start("", self._discover)
            return self._version
        try:
            async with asyncio.timeout(KNOWN_WAIT_SECONDS):
                return await self._discovery.do("", self._discover)
        except (TimeoutError, Unavailable):
            self._responds = False
        except StatusError as error:
            if error.code < SERVER_ERROR and error.code != TOO_MANY_REQUESTS:
                raise
        except msgspec.DecodeError:
            pass  # Something else has responded.
        return self._version

    async def _discover(self) -> str:
        started_seconds = self._monotonic()
        try:
            response = await self._kube.get("/apis", accept=ACCEPT_AGGREGATED)
        except StatusError:
            self._responds = True
            raise
        self._responds = True
        self._version = _chosen(offered_versions(response, GROUP))
        self._discovered_at_seconds = started_seconds
        return self._version


def _chosen(offered: list[str] | None) -> str:
    if offered is None:
        raise MetricUnavailable(f"no custom metrics API ({GROUP}) registered")
    for version in offered:
        if version in KNOWN_VERSIONS:
            return version
    raise MetricUnavailable("no known available metric versions found")


def group_of(described: CrossVersionObjectReference) -> str:
    """The API group; empty for the core group, and for what is not `group/version`, as schema.FromAPIVersionAndKind."""
    group, *version = described.api_version.split("/")
    return group if len(version) == 1 else ""


def is_namespace(described: CrossVersionObjectReference) -> bool:
    """Its metrics have a path of their own."""
    return described.kind == "Namespace" and not group_of(described)


def qualified(resource: Resource) -> str:
    """`resource.group`, as in paths of metrics."""
    return f"{resource.name}.{resource.group}" if resource.group else resource.name


def object_path(namespace: str, resource: str, name: str, metric: str) -> str:
    """The path of a metric of an object, below the version. `resource` is qualified, or `OF_NAMESPACE`."""
    place = resource if resource == OF_NAMESPACE else f"{resource}/{quote(name, safe='')}"
    return f"namespaces/{namespace}/{place}/{quote(metric, safe='')}"


class CustomMetrics:
    """Reads metrics of pods or of one object. Every method raises `MetricUnavailable`."""

    def __init__(self, version: PreferredVersion, mapper: RestMapper) -> None:
        self._version = version
        self._mapper = mapper

    async def of_pods(
        self,
        kube: Reader,
        namespace: str,
        metric: str,
        pods: Selector,
        metric_selector: Selector,
    ) -> Reading:
        """The metric of every pod that the selector matches."""
        # Upstream maps the kind Pod with its REST mapper, which always returns this resource.
        path = with_selectors(
            f"namespaces/{namespace}/pods/{EVERY_OBJECT}/{quote(metric, safe='')}",
            labelSelector=pods,
            metricLabelSelector=metric_selector,
        )
        parts = await self._read(
            kube, path, lambda body: decoded(body, _of_pods), resource="pods", name=EVERY_OBJECT
        )
        return samples.joined(parts)

    async def of_object(
        self,
        kube: Reader,
        namespace: str,
        metric: str,
        described: CrossVersionObjectReference,
        metric_selector: Selector,
    ) -> Reading:
        """The metric of one object. For a Namespace it is that of `namespace`, whatever the reference names."""
        if is_namespace(described):
            resource, name = OF_NAMESPACE, metric
        else:
            # Without the API, that is the cause, and not a kind that is unknown, too (`getPreferredClient` comes first).
            with suppress(StatusError, Unavailable, msgspec.DecodeError):
                await self._version.get()
            resource = await self._resource(group_of(described), described.kind)
            name = described.name
        path = object_path(namespace, resource, described.name, metric)
        path = with_selectors(path, metricLabelSelector=metric_selector)
        parts = await self._read(
            kube,
            path,
            lambda body: decoded(within_limit(body), _values),
            resource=resource,
            name=name,
        )
        return samples.object_value(MetricValueList(items=[one for each in parts for one in each]))

    async def _read(
        self,
        kube: Reader,
        path: str,
        read: Callable[[bytes], Awaitable[tuple[T, ...]]],
        *,
        resource: str,
        name: str,
    ) -> tuple[T, ...]:
        """The response at a path below the version, as `read` makes it of the body."""
        try:
            version = await self._version.get()
            return await read(await kube.get(f"/apis/{GROUP}/{version}/{path}"))
        except (StatusError, Unavailable) as error:
            raise MetricUnavailable(
                worded(error, verb="get", resource=resource, group=GROUP, name=name)
            ) from error
        except msgspec.DecodeError as error:
            raise MetricUnavailable(f"the response is malformed: {error}") from error

    async def _resource(self, group: str, kind: str) -> str:
        """`resource.group` of a kind, of the first mapping. Upstream: qualResourceForKind."""
        try:
            found = self._mapper.resources_for_kind(group, kind)[0]
        except LookupError as error:
            if not await self._mapper.refresh_after_miss():
                named = f"{kind}.{group}" if group else kind
                raise MetricUnavailable(
                    f"unable to map kind {named} to resource: {error}"
                ) from error
            return await self._resource(group, kind)
        return qualified(found)


def _of_pods(part: bytes) -> Reading:
    return samples.pod_samples(decode(part))


def _values(part: bytes) -> list[MetricValue]:
    """Each item repeats the selector of the request, which would take many times the size of the response."""
    return [MetricValue(value=each.value) for each in decode(part).items]
