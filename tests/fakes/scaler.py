"""One fake per port of the scaler: it records its calls, and returns what the test has set."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from scaler.algorithm.decision import Event
from scaler.algorithm.observed import Pod
from scaler.algorithm.readings import Reading
from scaler.api.autoscaler import Autoscaler, MetricSpec
from scaler.cluster.metrics.measurements import TimedReading
from wire.api.labels import Selector
from wire.api.status import StatusError, not_found
from wire.kube.mapping import (
    GroupVersion,
    GroupVersionResource,
    Resource,
    ResourceTable,
)

Answer = bytes | BaseException
Json = dict[str, Any]


class FakeKube:
    """An API server with prepared responses: one per path for GETs, and a queue of them for PUTs."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.put_answers: list[Answer] = []
        self.requested: list[tuple[str, dict[str, str]]] = []
        self.put: list[tuple[str, Json]] = []
        self.applied: list[tuple[str, Json]] = []
        self.created: list[tuple[str, Json]] = []
        self.create_answers: list[Answer] = []
        self.patch_answers: list[Answer] = []
        self.patched: list[tuple[str, Json]] = []
        self.versions: dict[str, Callable[[], str]] = {}
        """The resourceVersions at these paths; a PUT with another one conflicts."""

    def serve(self, path: str, document: object) -> None:
        """Respond to GETs of this path with a document; Scales and LoadAutoscalers have their kind."""
        *_, resource, name = path.split("/")
        kind = (
            "Scale"
            if name == "scale"
            else "LoadAutoscaler"
            if resource == "loadautoscalers"
            else ""
        )
        if kind and isinstance(document, dict):
            document = {"kind": kind, **document}
        self.answers[path] = json.dumps(document).encode()

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        """The prepared response, or 404."""
        path, _, query = path.partition("?")
        self.requested.append((path, {**dict(parse_qsl(query)), **(params or {})}))
        answer = self.answers.get(path, not_found(f"{path} not found"))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def create(self, path: str, body: bytes) -> bytes:
        """The next prepared response, or success."""
        self.created.append((path, json.loads(body)))
        answer = self.create_answers.pop(0) if self.create_answers else b"{}"
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def replace(
        self, path: str, body: bytes, *, before_each: Callable[[], None] | None = None
    ) -> bytes:
        """The next prepared response, or success, unless the check before it raises."""
        if before_each is not None:
            before_each()
        self.put.append((path, json.loads(body)))
        if path in self.versions:
            sent = self.put[-1][1]["metadata"].get("resourceVersion")
            if sent not in (None, self.versions[path]()):
                raise StatusError("the object has been modified", code=409, reason="Conflict")
        answer = self.put_answers.pop(0) if self.put_answers else b"{}"
        if isinstance(answer, BaseException):
            raise answer
        self.applied.append(self.put[-1])
        return answer

    async def patch(self, path: str, body: bytes, **_: object) -> bytes:
        """The next prepared response, or success."""
        self.patched.append((path, json.loads(body)))
        answer = self.patch_answers.pop(0) if self.patch_answers else b"{}"
        if isinstance(answer, BaseException):
            raise answer
        return answer


def resource(group: str, version: str, name: str, kind: str) -> Resource:
    """A namespaced resource with a scale."""
    return Resource(
        group=group,
        version=version,
        name=name,
        singular=kind.lower(),
        kind=kind,
        namespaced=True,
        subresources=("scale",),
    )


class FakeMapper:
    """A REST mapper over a fixed table; a refresh discovers `later`."""

    def __init__(self, *resources: Resource, later: Sequence[Resource] = ()) -> None:
        self._known = list(resources)
        self._later = list(later)

    def resource_for(self, resource: str, group: str = "") -> GroupVersionResource:
        """See `RestMapper`."""
        return self._table().resource_for(GroupVersionResource(group, "", resource))

    def resources_for_kind(self, group: str, kind: str) -> Sequence[Resource]:
        """See `RestMapper`."""
        return self._table().resources_for_kind(group, kind)

    async def refresh_after_miss(self) -> bool:
        """Whether the refresh discovered anything."""
        news, self._later = self._later, []
        self._known += news
        return bool(news)

    def _table(self) -> ResourceTable:
        versions: dict[tuple[str, str], list[Resource]] = {}
        for each in self._known:
            versions.setdefault((each.group, each.version), []).append(each)
        return ResourceTable(
            [
                GroupVersion(group=g, version=v, preferred=True, resources=tuple(found))
                for (g, v), found in versions.items()
            ]
        )


class FakeAutoscalers:
    """Autoscalers by key."""

    def __init__(self, *autoscalers: Autoscaler) -> None:
        self.by_key = {each.key: each for each in autoscalers}
        self.watched_version = ""
        self.listed_seconds = -math.inf

    def listed_at_seconds(self, namespace: str) -> float:
        """See `WatchedAutoscalers`."""
        return self.listed_seconds

    def version(self, namespace: str) -> str:
        """See `WatchedAutoscalers`."""
        return self.watched_version

    def get(self, key: str) -> Autoscaler | None:
        """One of them."""
        return self.by_key.get(key)


class FakePods:
    """A set of pods."""

    def __init__(self, *pods: Pod) -> None:
        self.pods = pods
        self._matches: dict[tuple[str, Selector], tuple[Pod, ...]] = {}

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """Those that match; the same object until one changes, as of `PodIndex`."""
        found = tuple(
            pod
            for pod in self.pods
            if pod.metadata.namespace == namespace and selector.matches(pod.metadata.labels)
        )
        before = self._matches.get((namespace, selector), ())
        if [*map(id, found)] != [*map(id, before)]:
            self._matches[namespace, selector] = found
        return self._matches.get((namespace, selector), found)


class FakeMeasurements:
    """Readings in the order of the reads."""

    def __init__(self, *readings: Reading) -> None:
        self.readings = list(readings)
        self.requested: list[tuple[str, MetricSpec, Selector]] = []
        self.periods_seconds: list[float | None] = []
        self.since_seconds: list[float] = []
        self.are_shared = False
        self.requests: tuple[str, ...] = ()
        """Of each autoscaler, which others could share."""
        self.while_read: Callable[[], None] = lambda: None
        """What happens while the API responds."""

    def reads(
        self,
        namespace: str,
        metrics: Sequence[MetricSpec],
        pod_selector: Selector,
        *,
        period_seconds: float | None = None,
        since_seconds: float = -math.inf,
    ) -> "FakeReads":
        """The next reading for each metric, whenever they are read; the last one is repeated."""
        self.periods_seconds.append(period_seconds)
        self.since_seconds.append(since_seconds)
        return FakeReads(
            self, lambda: tuple(self._next(namespace, each, pod_selector) for each in metrics)
        )

    def _next(self, namespace: str, metric: MetricSpec, pod_selector: Selector) -> TimedReading:
        self.requested.append((namespace, metric, pod_selector))
        reading = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        return TimedReading(reading, duration_seconds=0.01)


class FakeReads:
    """Reads of one autoscaler. While `are_shared`, other reconciles have just read the same."""

    def __init__(
        self, measurements: FakeMeasurements, read_next: Callable[[], tuple[TimedReading, ...]]
    ) -> None:
        self._measurements = measurements
        self._read_next = read_next

    @property
    def requests(self) -> tuple[str, ...]:
        """As the measurements say."""
        return self._measurements.requests

    def shared_as(self, readings: tuple[Reading, ...]) -> dict[str, str] | None:
        """Something, if the next readings are shared and equal."""
        return {} if self._measurements.are_shared and self.known(()) == readings else None

    def count(self, found: dict[str, str]) -> None:
        """Not counted."""

    def known(self, readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
        """The next readings while `are_shared`, otherwise these."""
        if not self._measurements.are_shared:
            return readings
        return tuple(each.reading for each in self._read_next())

    async def read(self) -> tuple[TimedReading, ...]:
        """All of them."""
        self._measurements.while_read()
        return self._read_next()


class FakeEvents:
    """Keeps what was emitted."""

    def __init__(self) -> None:
        self.emitted: list[Event] = []

    def emit(self, autoscaler: Autoscaler, event: Event) -> None:
        """Keep it."""
        self.emitted.append(event)
