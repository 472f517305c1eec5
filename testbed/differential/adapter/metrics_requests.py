"""Random requests by seed: mostly those of an HPA or a user, some malformed.

The generator knows the served metrics (from prometheus-adapter's discovery documents) and the objects in the
cluster. The same seed over the same metrics gives the same requests.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from testbed.differential.adapter import request_vocabulary as vocabulary
from testbed.differential.adapter.cluster_and_series import KINDS, NAMESPACES, PODS

CUSTOM, EXTERNAL, USAGE = "custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io"

Choice = TypeVar("Choice")


class MetricsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. `category` lists its traits, for the counts."""

    category: str
    target: str  # path and query as they go over the wire
    method: str = "GET"
    accept: str = ""

    @property
    def traits(self) -> set[str]:
        """The kind of request and what is unusual about it."""
        return set(self.category.split(", "))

    def __str__(self) -> str:
        accept = f" Accept: {self.accept}" if self.accept else ""
        return f"{self.method} {self.target}{accept}"


class ServedMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration serves: custom metrics (`pods/http_requests`, namespaced or not), external metrics, usage."""

    custom: tuple[tuple[str, bool], ...] = ()
    external: tuple[str, ...] = ()
    usage: bool = False


DISCOVERY_PATHS = (
    "/apis",
    *(f"/apis/{group}" for group in (CUSTOM, EXTERNAL, USAGE)),
    *(f"/apis/{group}/v1beta1" for group in (CUSTOM, EXTERNAL, USAGE)),
    f"/apis/{CUSTOM}/v1beta2",
)


def fixed_requests() -> Iterator[MetricsRequest]:
    """Every discovery document in every form that clients request, and a request for each deviation."""
    for path in DISCOVERY_PATHS:
        for accept in ("", "application/yaml", *vocabulary.AGGREGATED_ACCEPTS):
            yield MetricsRequest(category="discovery", target=path, accept=accept)
    one, two = (f"/apis/{CUSTOM}/v1beta2/namespaces/{namespace}" for namespace in NAMESPACES)
    external, usage = f"/apis/{EXTERNAL}/v1beta1/namespaces", f"/apis/{USAGE}/v1beta1"
    for target, accept in (
        ("/", ""),
        ("/version", ""),
        (f"{one}/pods/*/http_requests", ""),
        (f"{one}/pods/*/http_requests", "application/vnd.kubernetes.protobuf"),
        (f"{one}/pods/*/http_requests?labelSelector={'x' * 64}", ""),
        (f"{one}/pods/web-0/%zz", ""),
        (f"{one}/planets/mars/planet_mass", ""),
        (f"{one}/nodes/*/no_such_metric", ""),
        (f"{two}/pods/web-1/odd_values", ""),
        (f"{external}//queue_depth", ""),
        (f"{external}/default/queue_depth?resourceVersionMatch=Exact", ""),
        (f"{external}/{NAMESPACES[1]}/odd", ""),
        (f"{external}/{NAMESPACES[0]}/figures", ""),
        (f"{usage}/namespaces/{NAMESPACES[0]}/pods/db-0", ""),
        (f"{usage}/pods", ""),
        (f"{usage}/nodes", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
        (f"{usage}/nodes", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ):
        yield MetricsRequest(category="fixed", target=target, accept=accept)


class RequestGenerator:
    """Generates requests; every choice comes from one random source, so the seed determines all of them."""

    def __init__(self, served: ServedMetrics, *, seed: str) -> None:
        self._served = served
        self._random = random.Random(seed)  # noqa: S311  reproducible, not a secret

    def some(self, count: int) -> Iterator[MetricsRequest]:
        """`count` requests, most of them well formed."""
        sources: list[tuple[Callable[[], MetricsRequest], int]] = [(self._odd_path, 1)]
        if self._served.custom:
            sources += [(self._custom, 12), (self._namespace_metric, 2)]
        if self._served.external:
            sources.append((self._external, 10))
        if self._served.usage:
            sources.append((self._usage, 10))
        makers, weights = zip(*sources, strict=True)
        for _ in range(count):
            [maker] = self._random.choices(makers, weights)
            yield self._varied(maker())

    def _custom(self) -> MetricsRequest:
        resource, metric, namespaced = self._listed()
        category = ["custom"]
        if self._rarely(0.05):
            resource = self._pick([*KINDS, *vocabulary.UNKNOWN_RESOURCES])
            category.append("another resource")
        kind = KINDS.get(resource)
        spelling = self._pick(kind.spellings) if kind and self._rarely(0.4) else resource
        if self._rarely(0.06):
            metric = self._pick(vocabulary.UNKNOWN_METRICS)
            category.append("unknown metric")
        name = self._name(kind.names if kind else ("web-0",), category)
        if self._rarely(0.08):
            namespaced = not namespaced
            category.append("other scope")
        scope = f"namespaces/{self._namespace(category)}/" if namespaced else ""
        path = f"/apis/{CUSTOM}/{self._version()}/{scope}{spelling}/{name}/{_segment(metric)}"
        query = self._selectors(category, all_objects=name in ("*", "%2A"))
        return MetricsRequest(category=", ".join(category), target=_target(path, query))

    def _listed(self) -> tuple[str, str, bool]:
        """A served metric. The resource is chosen before the metric, since nearly every series has a label `job`."""
        kinds = sorted({name.split("/", 1)[0] for name, _ in self._served.custom} - {"namespaces"})
        weights = [_weight(kind) for kind in kinds]
        [chosen] = self._random.choices(kinds, weights)
        of_kind = [(n, scoped) for n, scoped in self._served.custom if n.startswith(f"{chosen}/")]
        name, namespaced = self._pick(of_kind)
        return chosen, name.split("/", 1)[1], namespaced

    def _namespace_metric(self) -> MetricsRequest:
        of_namespaces = [m for m, _ in self._served.custom if m.startswith("namespaces/")]
        metric = self._pick(of_namespaces or ["namespaces/none"]).split("/", 1)[1]
        category = ["metric of a namespace"]
        if self._rarely(0.1):
            metric = self._pick(vocabulary.UNKNOWN_METRICS)
            category.append("unknown metric")
        namespace = "*" if self._rarely(0.3) else self._namespace(category)
        path = f"/apis/{CUSTOM}/{self._version()}/namespaces/{namespace}/metrics/{_segment(metric)}"
        query = self._selectors(category, all_objects=namespace == "*")
        return MetricsRequest(category=", ".join(category), target=_target(path, query))

    def _external(self) -> MetricsRequest:
        category = ["external"]
        metric = self._pick(self._served.external)
        if self._rarely(0.06):
            metric = self._pick(vocabulary.UNKNOWN_METRICS)
            category.append("unknown metric")
        namespace = "default" if self._rarely(0.2) else self._namespace(category)
        path = f"/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/{_segment(metric)}"
        query = []
        if self._rarely(0.6):
            query.append(("labelSelector", self._selector(vocabulary.METRIC_SELECTORS, category)))
        if self._rarely(0.05):
            query.append(
                ("metricLabelSelector", self._selector(vocabulary.METRIC_SELECTORS, category))
            )
        return MetricsRequest(category=", ".join(category), target=_target(path, query))

    def _usage(self) -> MetricsRequest:
        category = ["usage"]
        if self._rarely(0.3):
            path = "nodes"
            if self._rarely(0.5):
                path += f"/{self._name(KINDS['nodes'].names, category)}"
        elif self._rarely(0.25):
            path = "pods"
        else:
            path = f"namespaces/{self._namespace(category)}/pods"
            if self._rarely(0.5):
                path += f"/{self._name(KINDS['pods'].names, category)}"
        query = []
        if self._rarely(0.4):
            query.append(("labelSelector", self._selector(vocabulary.LABEL_SELECTORS, category)))
        if self._rarely(0.1):
            category.append("field selector")
            query.append(("fieldSelector", self._pick(vocabulary.FIELD_SELECTORS)))
        return MetricsRequest(
            category=", ".join(category), target=_target(f"/apis/{USAGE}/v1beta1/{path}", query)
        )

    def _odd_path(self) -> MetricsRequest:
        path = self._pick(vocabulary.ODD_PATHS)
        accept = self._pick(vocabulary.AGGREGATED_ACCEPTS) if self._rarely(0.2) else ""
        return MetricsRequest(category="odd path", target=_encoded(path), accept=accept)

    def _varied(self, request: MetricsRequest) -> MetricsRequest:
        """Sometimes with another Accept header, method or list option."""
        if request.accept:
            return request
        if self._rarely(0.06):
            return msgspec.structs.replace(
                request,
                accept=self._pick(vocabulary.ACCEPTS),
                category=request.category + ", Accept",
            )
        if self._rarely(0.02) and request.target.startswith("/apis"):
            return msgspec.structs.replace(
                request, method=self._pick(vocabulary.METHODS), category="method"
            )
        if self._rarely(0.05):
            joint = "&" if "?" in request.target else "?"
            option = urlencode([self._pick(vocabulary.OPTIONS)])
            return msgspec.structs.replace(
                request,
                target=f"{request.target}{joint}{option}",
                category=request.category + ", option",
            )
        return request

    def _version(self) -> str:
        return self._pick(("v1beta1", "v1beta2"))

    def _namespace(self, category: list[str]) -> str:
        if self._rarely(0.05):
            category.append("missing namespace")
            return _encoded(self._pick(vocabulary.MISSING_NAMESPACES))
        return self._pick(NAMESPACES)

    def _name(self, names: Sequence[str], category: list[str]) -> str:
        if self._rarely(0.5):
            category.append("all objects")
            return self._pick(("*", "%2A"))
        if self._rarely(0.1):
            category.append("missing object")
            return _encoded(self._pick((*vocabulary.MISSING_NAMES, *PODS)))
        category.append("one object")
        return names[0] if self._rarely(0.4) else self._pick(names)

    def _selectors(self, category: list[str], *, all_objects: bool) -> list[tuple[str, str]]:
        query = []
        if self._rarely(0.4 if all_objects else 0.1):
            query.append(("labelSelector", self._selector(vocabulary.LABEL_SELECTORS, category)))
        if self._rarely(0.2):
            query.append(
                ("metricLabelSelector", self._selector(vocabulary.METRIC_SELECTORS, category))
            )
        return query

    def _selector(self, well_formed: Sequence[str], category: list[str]) -> str:
        if self._rarely(0.08):
            category.append("malformed selector")
            return self._pick(vocabulary.MALFORMED_SELECTORS)
        category.append("selector")
        return self._pick(well_formed)

    def _pick(self, choices: Sequence[Choice]) -> Choice:
        return self._random.choice(choices)

    def _rarely(self, probability: float) -> bool:
        return self._random.random() < probability


def _weight(kind: str) -> float:
    """Prefer kinds that have objects and series over those that only match a label name."""
    if kind == "pods":
        return 40
    if kind == "jobs.batch":
        return 3
    return 10 if kind in KINDS else 0.3


def _segment(metric: str) -> str:
    """A metric name in a path; a slash in it separates segments, as for every client."""
    return (
        metric
        if metric in vocabulary.UNKNOWN_METRICS and metric.isascii()
        else quote(metric, safe="/*")
    )


def _encoded(path: str) -> str:
    return quote(path, safe="/%*|")


def _target(path: str, query: Sequence[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
