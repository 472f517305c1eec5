"""The model API server: one request in, one answer out, by the rules of the real one.

Faults stand between: a `Disturbance` says what becomes of the requests that it matches.
"""

import random
from collections.abc import Callable

import msgspec

from tests.fakes import json_patch
from tests.simulation import metrics_apis
from tests.simulation.cluster import ApiError, Cluster, Document, status_response
from tests.simulation.discovery import documents
from tests.simulation.journal import (
    Journal,
    Measurement,
    ScaleRequested,
    ScaleWritten,
    StatusWritten,
    TargetRequest,
)
from tests.simulation.memory_objects import MEMORIES, MemoryObjects
from tests.simulation.metrics_apis import UNITS_PER_REPLICA, Measured, metric_of
from tests.simulation.metrics_pipeline import SERVED_GROUPS, MetricsPipeline
from tests.simulation.network import Connection, Request, Response, rendered
from tests.simulation.ownership import Ownership
from tests.simulation.rights import REVIEWS
from tests.simulation.spoiled_responses import spoiled
from tests.simulation.tampering import Tamper
from tests.simulation.timeline import Timeline
from tests.simulation.workloads import Workload
from wire.api.status import StatusError
from wire.kube.metadata_only import METADATA_LIST

AUTOSCALERS = ("loadautoscalers", "horizontalpodautoscalers")
UPGRADED_AT_SECONDS = 150.0
REASONS = {403: "Forbidden", 422: "Invalid"}


class Disturbance(msgspec.Struct, kw_only=True):
    """What becomes of some requests for a while.

    `how`: hang (never answered), lost (done, then the connection breaks), cut (not done, and it breaks),
    torn (done, and it breaks in the middle of the answer), slow (by `seconds`), error (`status`, and
    Retry-After when `seconds` is set), garbage, partial (half the items), gaps (without some items),
    other half (without the first items), reset (values that begin at zero again), empty, conflict (another writer was there a moment earlier).
    """

    how: str
    matches: Callable[[Request], bool]
    share: float = 1.0
    seconds: float = 0.0
    status: int = 503


class ApiServer:
    """The cluster, the metrics APIs, and the way to them."""

    def __init__(
        self,
        timeline: Timeline,
        cluster: Cluster,
        journal: Journal,
        rng: random.Random,
        tamper: Tamper,
        page_max: int,
    ) -> None:
        self._timeline = timeline
        self._cluster = cluster
        self._journal = journal
        self._random = rng
        self._tamper = tamper
        self._page_max = page_max
        self.disturbances: list[Disturbance] = []
        self.workloads: dict[str, Workload] = {}
        self.discovery_with_nulls = False
        self.lags_seconds: tuple[float, ...] = ()
        """How far the watch caches of the API servers behind a balancer are behind; empty: there is one server."""
        self.pruned_fields: frozenset[str] = frozenset()
        """Of a status, which the schema of the CustomResourceDefinition does not have."""
        self.ownership = Ownership(journal)
        self.memories = MemoryObjects(timeline, cluster, journal)
        self.pipeline: MetricsPipeline | None = None
        """Where requests for metrics are forwarded to; None: the model serves them itself."""

    def receive(self, request: Request, connection: Connection) -> None:
        """A request has left a process."""
        reaching = self._tamper.request(request)
        self._journal.requests[f"{request.process} {_verb(request)}"] += len(reaching)
        if reaching:
            self._note_target_request(reaching[0])
            self._receive(reaching[0], connection)

    def _note_target_request(self, request: Request) -> None:
        measured = metric_of(request)
        if measured is not None:
            target, group = measured.target, measured.group
        elif request.scale_target:
            target, group = request.scale_target, ""
        else:
            return
        self._journal.target_requests.append(
            TargetRequest(
                at=request.sent_at, process=request.process, target=target, group=group,
                is_write=request.method == "PUT",
            )
        )  # fmt: skip

    def _receive(self, request: Request, connection: Connection) -> None:
        disturbance = self._disturbance(request)
        seconds = self._random.uniform(0.001, 0.004)
        if disturbance is not None:
            self._journal.say(
                self._timeline.now,
                f"{disturbance.how}: {request.process} {request.method} {request.path}",
            )
            if disturbance.how == "slow":
                seconds += disturbance.seconds * self._random.uniform(0.2, 1)
        self._timeline.after(seconds, self._arrived, request, connection, disturbance)

    def _disturbance(self, request: Request) -> Disturbance | None:
        for each in self.disturbances:
            if each.matches(request) and (each.share >= 1 or self._random.random() < each.share):
                return each
        return None

    def _arrived(
        self, request: Request, connection: Connection, disturbance: Disturbance | None
    ) -> None:
        how = disturbance.how if disturbance else ""
        measured = metric_of(request)
        if how in ("hang", "cut"):
            self._measured(request, measured, None)
            if how == "cut":
                connection.cut()
            return
        if how == "conflict":
            self._touch(request)
        if request.is_watch and how != "error":
            self._watch(request, connection)
            return
        if how == "error" and disturbance is not None:
            self._answered(request, connection, disturbance, measured, _out_of_order(disturbance))
        elif self.pipeline is not None and measured and measured.group in SERVED_GROUPS:
            self.pipeline.forward(
                request, measured,
                lambda response: self._answered(request, connection, disturbance, measured, response),
            )  # fmt: skip
        else:
            response = self._answer(request, measured)
            self._answered(request, connection, disturbance, measured, response)

    def _answered(
        self,
        request: Request,
        connection: Connection,
        disturbance: Disturbance | None,
        measured: Measured | None,
        response: Response,
    ) -> None:
        """Send the response, or what a fault makes of it."""
        how = disturbance.how if disturbance else ""
        response = spoiled(how, response, self._random)
        if how in ("lost", "torn"):
            self._journal.lose_answer(self._timeline.now)
            self._measured(request, measured, None)
            if how == "torn":
                connection.send(rendered(response)[: -len(response.body) // 2])
            self._timeline.after(0.001, connection.cut)
            return
        self._measured(request, measured, response)
        response = self._tamper.answer(request, response)
        self._timeline.after(self._random.uniform(0.0005, 0.002), connection.answer, response)

    def _answer(self, request: Request, measured: Measured | None) -> Response:
        try:
            if measured is not None:
                workload = self.workloads.get(measured.target)
                if workload is None:
                    raise ApiError(404, "NotFound", "the server could not find the metric")
                return metrics_apis.answer(measured, workload, self._timeline.now)
            if self.pipeline is not None and request.parts[-1] in REVIEWS:
                return self.pipeline.rights.reviewed(request)
            return self._resource(request)
        except ApiError as error:
            return error.response

    def _measured(
        self, request: Request, measured: Measured | None, response: Response | None
    ) -> None:
        """Note what the process will know, by what the server meant to say."""
        if measured is None:
            return
        body = response.body if response and response.ok else None
        document = None if body is None else metrics_apis.decoded(measured, body)
        self._journal.measurements.append(
            Measurement(
                at=self._timeline.now, process=request.process, target=measured.target,
                group=measured.group, document=document, value=metrics_apis.total(document),
                sent_at=request.sent_at,
            )
        )  # fmt: skip

    def _touch(self, request: Request) -> None:
        """Another writer changes what is about to be written."""
        parts = request.parts
        for plural in ("deployments", "leases", *AUTOSCALERS, MEMORIES):
            if plural in parts and request.method in ("PUT", "DELETE"):
                name = parts[parts.index(plural) + 1]
                collection = self._cluster[plural]
                if (parts[4], name) in collection.objects:
                    collection.update(
                        parts[4],
                        name,
                        lambda found: found["metadata"].update(annotations=self._stamp()),
                    )

    def _stamp(self) -> dict[str, str]:
        return {"touched": str(self._cluster.version)}

    def _watch(self, request: Request, connection: Connection) -> None:
        if self.lags_seconds and connection.lag_seconds is None:
            connection.lag_seconds = self._random.choice(self.lags_seconds)
        parts = request.parts
        plural, namespace = parts[-1], parts[-2] if "namespaces" in parts else ""
        seconds = float(request.params.get("timeoutSeconds", "300"))
        version = request.params.get("resourceVersion", "")
        try:
            self._cluster[plural].watch(connection, request.process, namespace, version, seconds)
        except ApiError as error:
            connection.answer(error.response)

    def _resource(self, request: Request) -> Response:
        parts = request.parts
        if request.path == "/version":
            return self._version()
        if len(parts) == 1:
            return documents(request, nulls=self.discovery_with_nulls)
        if request.scale_target:
            return self._scale(request)
        if "leases" in parts:
            return self._lease(request, parts)
        if "events" in parts:
            return Response(status=201 if request.method == "POST" else 200)
        if MEMORIES in parts and request.method in ("POST", "PUT", "DELETE"):
            return self.memories.write(request)
        if request.method != "GET" and parts[5:6] and parts[5] in AUTOSCALERS:
            return self._status(request, plural=parts[5], namespace=parts[4], name=parts[6])
        if "pods" in parts and request.method == "PATCH":
            return self._patched_pod(request, namespace=parts[3], name=parts[5])
        plural = next((part for part in reversed(parts) if part in self._cluster.collections), "")
        if not plural or request.method != "GET":
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        if parts[-1] == plural:
            return Response(body=self._listed(request, plural, namespace))
        self._cluster[plural].find(namespace, parts[-1])
        return Response(body=self._cluster[plural].encoded(namespace, parts[-1]))

    def _listed(self, request: Request, plural: str, namespace: str) -> bytes:
        limit = min(self._page_max, int(request.params.get("limit", self._page_max)))
        listed = self._cluster[plural].listed(namespace, limit, request.params.get("continue", ""))
        if plural == MEMORIES:
            self.memories.note_read(request, listed)
        if plural == "deployments" and METADATA_LIST not in request.headers.get("accept", ""):
            self._journal.note_listed_targets(request.sent_at, request.process, listed)
        return listed

    def _version(self) -> Response:
        """The control plane is upgraded while HPAs are scaled, which must change no replica count."""
        minor = "36" if self._timeline.now < UPGRADED_AT_SECONDS else "37"
        return Response(body=msgspec.json.encode({"major": "1", "minor": minor}))

    def _scale(self, request: Request) -> Response:
        target = request.scale_target
        name = target.partition("/")[2]
        workload = self.workloads.get(target)
        if workload is None:
            raise ApiError(404, "NotFound", f'deployments.apps "{name}" not found')
        if request.method == "PUT":
            self._write_scale(request, workload, target)
        found = workload.document
        document = {
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {
                key: found["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            },
            "spec": {"replicas": workload.replicas},
            "status": {"replicas": found["status"]["replicas"], "selector": f"app={name}"},
        }  # fmt: skip
        return Response(body=msgspec.json.encode(document))

    def _write_scale(self, request: Request, workload: Workload, target: str) -> None:
        now, wanted = self._timeline.now, msgspec.json.decode(request.body)
        before, after = workload.replicas, wanted["spec"].get("replicas", 0)
        requested = ScaleRequested(
            sent_at=request.sent_at, process=request.process, target=target, replicas=after,
            version=wanted["metadata"].get("resourceVersion", ""),
        )  # fmt: skip
        self._journal.scale_requests.append(requested)
        read = self._journal.decided_on(requested)
        try:
            workload.scale(after, wanted["metadata"])
        except ApiError:
            requested.is_repeated = True
            raise
        self._journal.say(now, f"{request.process} scales {target} from {before} to {after}")
        self._journal.scales.append(
            ScaleWritten(
                at=now, sent_at=request.sent_at, process=request.process, target=target,
                before=before, after=after, read=read,
            )
        )  # fmt: skip

    def _patched_pod(self, request: Request, *, namespace: str, name: str) -> Response:
        given = msgspec.json.decode(request.body)["metadata"]
        pods = self._cluster["pods"]
        before = pods.find(namespace, name)["metadata"].get("annotations", {})
        annotations = {**before, **given["annotations"]}
        kept = {key: value for key, value in annotations.items() if value is not None}
        pods.update(
            namespace,
            name,
            lambda found: found["metadata"].update(annotations=kept),
            given={"resourceVersion": given["resourceVersion"]},
        )
        return Response(body=pods.encoded(namespace, name))

    def _status(self, request: Request, *, plural: str, namespace: str, name: str) -> Response:
        given = msgspec.json.decode(request.body)
        collection = self._cluster[plural]
        pruned = self.pruned_fields if plural == "loadautoscalers" else frozenset()
        stored = {field: value for field, value in given["status"].items() if field not in pruned}
        collection.update(
            namespace, name, lambda found: found.update(status=stored), given=given["metadata"]
        )
        size = len(msgspec.json.encode(given["status"]))
        self._journal.status_bytes_max = max(self._journal.status_bytes_max, size)
        key = f"{namespace}/{name}"
        self._journal.statuses.append(
            StatusWritten(
                at=self._timeline.now, process=request.process, key=key, bytes=size,
                path=request.path, fields=tuple(given["status"]),
                has_metrics=bool(given["status"].get("currentMetrics")),
                loses_history="history" in pruned,
            )
        )  # fmt: skip
        return Response(body=collection.encoded(namespace, name))

    def _lease(self, request: Request, parts: tuple[str, ...]) -> Response:
        namespace = parts[4]
        collection = self._cluster["leases"]
        if request.method == "GET" and parts[-1] == "leases":
            # Without a limit there are no pages.
            return Response(body=collection.listed(namespace, len(collection.objects), ""))
        if request.method == "GET":
            collection.find(namespace, parts[-1])
            return Response(body=collection.encoded(namespace, parts[-1]))
        given = self._given_lease(request, namespace, parts[-1])
        name = given["metadata"]["name"]
        if request.method == "POST":
            given["metadata"].setdefault("namespace", namespace)
            collection.create(given)
        else:
            spec, metadata = given["spec"], given["metadata"]
            collection.update(namespace, name, lambda lease: lease.update(spec=spec), given=metadata)  # fmt: skip
        self.ownership.written(self._timeline.now, request.process, given)
        return Response(body=collection.encoded(namespace, name))

    def _given_lease(self, request: Request, namespace: str, name: str) -> Document:
        if request.method != "PATCH":
            given: Document = msgspec.json.decode(request.body)
            return given
        try:
            return json_patch.patched(self._cluster["leases"].find(namespace, name), request.body)
        except StatusError as error:
            raise ApiError(error.code, error.reason, str(error)) from None


def _verb(request: Request) -> str:
    parts = request.parts
    measured = metric_of(request)
    if measured is not None:
        return f"{request.method} {measured.group}"
    for known in ("scale", "leases", "events", *AUTOSCALERS, MEMORIES, "pods", "deployments"):
        if known in parts:
            return f"{'WATCH' if request.is_watch else request.method} {known}"
    return f"{request.method} {request.path}"


def _out_of_order(disturbance: Disturbance) -> Response:
    after = {"Retry-After": str(int(disturbance.seconds))} if disturbance.seconds else {}
    reason = REASONS.get(disturbance.status, "")
    return status_response(disturbance.status, reason, "the model is out of order", **after)


def proposal(load: float) -> int:
    """How many replicas a load needs."""
    return -int(-load // UNITS_PER_REPLICA)
