"""The HTTP face of the metrics APIs: which path means what, and every outcome as a document.

Each request is read once (`attributes_of`); authorization, routing and telemetry go by that reading.
"""

import logging
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from adapter import telemetry
from adapter.answer import Answers
from adapter.serve import discovery, openapi
from adapter.translate import parse
from wire import custom_metrics, external_metrics
from wire.serving.attributes import Attributes, attributes_of
from wire.status import StatusError, internal_error, method_not_allowed, not_found

JSON = "application/json"

log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode


class Gate(Protocol):
    """Who may ask what."""

    async def admit(self, request: web.Request, attributes: Attributes) -> None:
        """Return when the request may be answered; raises `StatusError` 401 or 403 otherwise."""
        ...


class MetricsAPI:
    """The handlers. `version` is the program's, for the OpenAPI documents."""

    def __init__(self, answers: Answers, gate: Gate, *, version: str) -> None:
        self._answers = answers
        self._gate = gate
        self._version = version
        self._documents = discovery.ResourceDocuments()

    def routes(self) -> list[web.RouteDef]:
        """What the listener has to send here."""
        return [
            web.route("*", "/apis", self.handle),
            web.route("*", "/apis/{rest:.*}", self.handle),
            web.route("*", "/openapi/{rest:.*}", self.handle),
        ]

    async def handle(self, request: web.Request) -> web.Response:
        """Any request, any outcome."""
        started = time.perf_counter()
        attributes = attributes_of(request.method, request.path, request.query_string)
        try:
            await self._gate.admit(request, attributes)
            response = await self._respond(request, attributes)
        except StatusError as error:
            response = _failed(error)
        except Exception:
            # A bug of ours: the trace is for our log, the client gets a plain word.
            log.exception("%s %s failed", request.method, request.path)
            response = _failed(internal_error("the adapter met an error of its own; see its log"))
        api = attributes.api_group if attributes.api_group in discovery.VERSIONS else "other"
        telemetry.REQUESTS.labels(api, str(response.status)).inc()
        telemetry.REQUEST_SECONDS.labels(api).observe(time.perf_counter() - started)
        return response

    async def _respond(self, request: web.Request, attributes: Attributes) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed(f"{request.method} is not supported here: metrics are read")
        if attributes.is_resource_request:
            return _json(_encode(await self._metric(request, attributes)))
        match request.path.strip("/").split("/"):
            case ["apis"]:
                return self._groups(request)
            case ["apis", group] if group in self._answers.in_force.groups:
                return _json(discovery.group_document(group))
            case ["apis", group, version] if self._is_served(group, version):
                in_force = self._answers.in_force
                return _json(self._documents.document(in_force, group, version))
            case ["openapi", *rest]:
                return self._openapi(request, rest)
        raise _no_such_path()

    async def _metric(self, request: web.Request, attributes: Attributes) -> msgspec.Struct:
        if not self._is_served(attributes.api_group, attributes.api_version):
            raise _no_such_path()
        path = request.path.split("/", 4)[4]
        query = parse_qsl(request.query_string, keep_blank_values=True)
        if attributes.api_group == custom_metrics.GROUP:
            asked = parse.custom_metric(path, query, api_version=attributes.api_version)
            return await self._answers.custom(asked)
        if attributes.api_group == external_metrics.GROUP:
            return await self._answers.external(parse.external_metric(path, query))
        return await self._answers.usage(parse.resource_metric(path, query))

    def _groups(self, request: web.Request) -> web.Response:
        accepted = request.headers.get("Accept", "")
        if "as=APIGroupDiscoveryList" in accepted:
            if "v=v2;" in accepted or accepted.rstrip().endswith("v=v2"):
                return _json(
                    discovery.AGGREGATED_V2,
                    f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                )
            return _json(
                discovery.AGGREGATED_V2BETA1,
                f"{JSON};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            )
        return _json(discovery.groups_document(self._answers.in_force))

    def _openapi(self, request: web.Request, rest: list[str]) -> web.Response:
        served = [
            f"{group}/{version}"
            for group in self._answers.in_force.groups
            for version in discovery.VERSIONS[group]
        ]
        match rest:
            case ["v2"]:
                return _tagged(request, openapi.v2_document(served, self._version))
            case ["v3"]:
                return _json(openapi.v3_index(self._v3_documents(served)))
            case ["v3", "apis", group, version] if f"{group}/{version}" in served:
                return _tagged(request, openapi.v3_document(f"{group}/{version}", self._version))
        raise _no_such_path()

    def _v3_documents(self, served: list[str]) -> Mapping[str, bytes]:
        return {name: openapi.v3_document(name, self._version) for name in served}

    def _is_served(self, group: str, version: str) -> bool:
        return discovery.is_served(self._answers.in_force, group, version)


def _json(body: bytes, content_type: str = JSON) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": content_type})


def _tagged(request: web.Request, body: bytes) -> web.Response:
    tag = f'"{openapi.digest(body)}"'
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return web.Response(body=body, headers={"Content-Type": JSON, "ETag": tag})


def _failed(error: StatusError) -> web.Response:
    return web.Response(
        status=error.code, body=_encode(error.to_status()), headers={"Content-Type": JSON}
    )


def _no_such_path() -> StatusError:
    return not_found("the server could not find the requested resource")
