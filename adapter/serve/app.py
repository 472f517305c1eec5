"""The HTTP routes of the metrics APIs, and every response as a document.

Requests are authorized before (`wire.serving.access_guard`), and failures become a Status after (`errors_to_status`).
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus

import msgspec
from aiohttp import web

from adapter import telemetry
from adapter.answer import ActiveConfiguration, Answers, MetricPaths
from adapter.documents.encoding import encoded
from adapter.documents.listoptions import check_timeout, parameters
from adapter.documents.paths import VERSIONS
from adapter.serve import api_discovery, openapi
from wire.api import custom_metrics
from wire.api.status import StatusDetails, StatusError, failure, path_not_found
from wire.serving.health import MayRead, no_client
from wire.serving.rendering import JSON, YAML, accept_of, negotiated_type, respond
from wire.serving.request_path import split_path

EMPTY = StatusDetails()
"""The errors of the generic API server have empty details."""

PROTOBUF = "application/vnd.kubernetes.protobuf"
REPRESENTATIONS = (JSON, YAML, PROTOBUF, f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
"""What upstream lists when nothing matches, in its order."""
_ACCEPTED = frozenset({"*/*", *REPRESENTATIONS})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MetricsAPI:
    """The handlers. `version` is the program's, for the OpenAPI documents."""

    def __init__(
        self,
        answers: Answers,
        paths: MetricPaths,
        *,
        version: str,
        may_read_configuration: MayRead = no_client,
    ) -> None:
        """`may_read_configuration`: whether the client of a request may read queries."""
        self._may_read_configuration = may_read_configuration
        self._answers = answers
        self._paths = paths
        self._version = version
        self._documents = api_discovery.ResourceDocuments()

    def add_routes(self, app: web.Application) -> None:
        """Serve `/apis` and `/openapi`."""
        app.router.add_route("*", "/apis", self.apis)
        app.router.add_route("*", "/apis/{rest:.*}", self.apis)
        app.router.add_get("/openapi/{rest:.*}", self.openapi)

    async def apis(self, request: web.Request) -> web.Response:
        """Everything under `/apis`: discovery, and the values of metrics."""
        match split_path(request.path):
            case ["apis"]:
                _check_read(request)
                return self._groups(request)
            case ["apis", group] if group in self._answers.active.groups:
                _check_read(request)
                return respond(request, api_discovery.group_document(group))
            case ["apis", group, version] if self._paths.is_served(group, version):
                _check_read(request)
                active = self._answers.active
                return respond(request, await self._documents.document(active, group, version))
            case ["apis", group, version, *rest] if self._paths.is_served(group, version):
                document = await self._metric(request, group, version, "/".join(rest))
                return respond(request, encoded(document))
        raise path_not_found()

    async def openapi(self, request: web.Request) -> web.Response:
        """The OpenAPI documents of the groups that are served."""
        served = [
            f"{group}/{version}"
            for group in self._answers.active.groups
            for version in VERSIONS[group]
        ]
        match request.match_info["rest"].split("/"):
            case ["v2"]:
                return _tagged(request, openapi.v2_document(served, self._version))
            case ["v3"]:
                documents = {name: openapi.v3_document(name, self._version) for name in served}
                return _document(openapi.v3_index(documents))
            case ["v3", "apis", group, version] if f"{group}/{version}" in served:
                return _tagged(request, openapi.v3_document(f"{group}/{version}", self._version))
        raise path_not_found()

    async def _metric(
        self, request: web.Request, group: str, version: str, path: str
    ) -> msgspec.Struct:
        query = request.rel_url.raw_query_string
        try:
            known = self._paths.known(group, version, path, query)
        except StatusError as refused:
            # A path that does not exist is refused before method and Accept are checked, a bad parameter after.
            if refused.code != HTTPStatus.NOT_FOUND:
                _check_read_metric(request, group)
            raise
        _check_read_metric(request, group)
        try:
            return await self._answers.answer(known)
        except StatusError as refused:
            if refused.in_full is not None and await self._may_read_configuration(request):
                raise refused.in_full from refused
            raise

    def _groups(self, request: web.Request) -> web.Response:
        aggregated = api_discovery.aggregated_document(accept_of(request), self._answers.active)
        if aggregated:
            return _document(*aggregated)
        return respond(
            request,
            api_discovery.groups_document(self._answers.active, _own_address(request)),
        )


def served_paths(active: ActiveConfiguration) -> Iterator[str]:
    """The paths of the groups that are served now, for the list at `/`."""
    yield from ("/openapi/v2", "/openapi/v3")
    for group in active.groups:
        yield f"/apis/{group}"
        for version in VERSIONS[group]:
            yield f"/apis/{group}/{version}"
            yield f"/openapi/v3/apis/{group}/{version}"


@web.middleware
async def count_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count and time every request to a metrics API, refused ones too. It is the outermost middleware."""
    group = request.path.split("/", 3)[2:3]
    if not group or group[0] not in VERSIONS:
        return await handler(request)
    started = time.perf_counter()
    response = await handler(request)
    telemetry.REQUESTS.labels(group[0], str(response.status)).inc()
    telemetry.REQUEST_SECONDS.labels(group[0]).observe(time.perf_counter() - started)
    return response


@web.middleware
async def check_timeouts(request: web.Request, handler: Handler) -> web.StreamResponse:
    """apiserver's WithRequestDeadline: on every path, before its handler. Raises `StatusError` 400."""
    check_timeout(parameters(request.rel_url.raw_query_string))
    return await handler(request)


def _own_address(request: web.Request) -> str:
    """The port alone, as in prometheus-adapter, which listens on every address."""
    socket = request.transport.get_extra_info("sockname") if request.transport else None
    return f":{socket[1]}" if socket else ""


def _document(body: bytes, content_type: str = JSON) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": content_type})


def _tagged(request: web.Request, body: bytes) -> web.Response:
    tag = f'"{openapi.digest(body)}"'
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return web.Response(body=body, headers={"Content-Type": JSON, "ETag": tag})


def check_representation(request: web.BaseRequest) -> None:
    """go-restful's Route.matchesAccept: Accept must contain one of `REPRESENTATIONS` literally, or `*/*`.

    Parameters, weights and `application/*` are not considered. Raises `StatusError` 406.
    """
    accept = accept_of(request) or "*/*"
    if accept in _ACCEPTED:
        return
    named = {clause.split(";")[0].strip() for clause in accept.split(",")}
    if named.isdisjoint(_ACCEPTED):
        listed = ", ".join(REPRESENTATIONS)
        raise failure(406, f"406: Not Acceptable\n\nAvailable representations: {listed}", EMPTY)


def _check_read(request: web.Request) -> None:
    """The checks of go-restful before it calls a handler, in its order."""
    if request.method != "GET":
        raise _method_not_allowed()
    check_representation(request)


def _check_read_metric(request: web.Request, group: str) -> None:
    """The generic handlers of the other two groups negotiate the media type too, before anything else."""
    _check_read(request)
    if group != custom_metrics.GROUP:
        negotiated_type(request)


def _method_not_allowed() -> StatusError:
    return failure(
        405,
        "the server does not allow this method on the requested resource: metrics are read-only",
        EMPTY,
    )
