"""An aggregated metrics API on loopback whose metrics, discovery and faults a test sets.

By default it has no aggregated discovery: kube-apiserver then converts its list of resources, such as `pods/rps`, and
adds parent resources whose `verbs` are null.
"""

import asyncio
import enum
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import web

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
SLOW_SECONDS = 30.0
STOP_SECONDS = 5.0
TLS_CLOSE_SECONDS = 0.25  # aiohttp does not wait for the end of TLS connections
TIMESTAMP = "2026-01-01T00:00:00Z"


class Fault(enum.Enum):
    """What is wrong with every response."""

    NULLS = "null in every optional field"
    UNKNOWN_FIELDS = "unknown fields"
    WRONG_KIND = "a document of another kind"
    NOT_JSON = "HTML instead of JSON"
    SLOW = f"a response after {SLOW_SECONDS:g} s"
    UNAVAILABLE = "503"


class MetricsAPIServer:
    """`with MetricsAPIServer(certificate, key) as api:`, registered at `api.port` for either group.

    `values` maps `namespace/metric` to the value of an External metric. `pods` maps `namespace/metric` to the values of
    a Pods metric by pod; None is a null value.
    """

    def __init__(self, certificate: Path, key: Path, *, fault: Fault | None = None) -> None:
        self.values: dict[str, str] = {}
        self.pods: dict[str, Mapping[str, str | None]] = {}
        self.fault = fault
        self.port = 0
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate, key)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS)
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application()
        add = app.router.add_get
        add("/apis/{group}/{version}", self._resources)
        add(f"/apis/{EXTERNAL}/{{version}}/namespaces/{{ns}}/{{metric}}", self._external)
        add(f"/apis/{CUSTOM}/{{version}}/namespaces/{{ns}}/pods/*/{{metric}}", self._of_pods)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            await asyncio.sleep(TLS_CLOSE_SECONDS)

    async def _resources(self, request: web.Request) -> web.Response:
        group, version = request.match_info["group"], request.match_info["version"]
        names = {CUSTOM: self._pods_resources(), EXTERNAL: self._external_resources()}
        return await self._response(
            {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{group}/{version}",
                "resources": [
                    {
                        "name": name,
                        "singularName": "",
                        "namespaced": True,
                        "kind": "MetricValueList" if group == CUSTOM else "ExternalMetricValueList",
                        "verbs": ["get"],
                    }
                    for name in names.get(group, [])
                ],
            }
        )

    def _pods_resources(self) -> list[str]:
        return sorted({f"pods/{key.split('/')[1]}" for key in self.pods} | {"pods/rps"})

    def _external_resources(self) -> list[str]:
        return sorted({key.split("/")[1] for key in self.values} | {"queue"})

    async def _external(self, request: web.Request) -> web.Response:
        of = request.match_info
        value = self.values.get(f"{of['ns']}/{of['metric']}")
        item: dict[str, Any] = {
            "metricName": of["metric"],
            "metricLabels": {},
            "timestamp": TIMESTAMP,
            "value": value,
        }
        return await self._values(
            f"{EXTERNAL}/{of['version']}", "ExternalMetricValueList", [item] if value else []
        )

    async def _of_pods(self, request: web.Request) -> web.Response:
        of = request.match_info
        items = [
            {
                "describedObject": {
                    "kind": "Pod",
                    "namespace": of["ns"],
                    "name": pod,
                    "apiVersion": "/v1",
                },
                "metricName": of["metric"],
                "timestamp": TIMESTAMP,
                "window": 60,
                "value": value,
                "selector": None,
            }
            for pod, value in self.pods.get(f"{of['ns']}/{of['metric']}", {}).items()
        ]
        return await self._values(f"{CUSTOM}/{of['version']}", "MetricValueList", items)

    async def _values(
        self, api_version: str, kind: str, items: list[dict[str, Any]]
    ) -> web.Response:
        document = {"kind": kind, "apiVersion": api_version, "metadata": {}, "items": items}
        return await self._response(document)

    async def _response(self, document: dict[str, Any]) -> web.Response:
        match self.fault:
            case Fault.UNAVAILABLE:
                return web.Response(status=503, text="the backend is unavailable")
            case Fault.NOT_JSON:
                return web.Response(text="<html>Welcome</html>", content_type="text/html")
            case Fault.SLOW:
                await asyncio.sleep(SLOW_SECONDS)
        body = msgspec.json.encode(with_fault(document, self.fault))
        return web.Response(body=body, content_type="application/json")


def with_fault(document: dict[str, Any], fault: Fault | None) -> Any:
    """The document with the faults that JSON can have."""
    match fault:
        case Fault.NULLS:
            return with_nulls(document)
        case Fault.UNKNOWN_FIELDS:
            return with_unknown_fields(document)
        case Fault.WRONG_KIND:
            return {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "web"}}]}
    return document


# What identifies an object, and values: null there would be a value of zero.
REQUIRED = {
    "kind", "apiVersion", "groupVersion", "resources", "items", "name", "namespaced", "namespace", "describedObject",
    "metricName", "value",
}  # fmt: skip
OPTIONAL = {"shortNames": None, "categories": None, "storageVersionHash": None, "metadata": None}


def with_nulls(value: Any) -> Any:
    """null in place of every optional field, also of those that are usually absent."""
    if isinstance(value, dict):
        kept = {key: with_nulls(each) if key in REQUIRED else None for key, each in value.items()}
        return {**OPTIONAL, **kept}
    return [with_nulls(each) for each in value] if isinstance(value, list) else value


def with_unknown_fields(value: Any) -> Any:
    """Additional fields of every type in every object."""
    if isinstance(value, dict):
        unknown = {
            "x-text": "y",
            "x-number": 1.5,
            "x-list": [{}, None],
            "x-object": {"a": {"b": []}},
        }
        return {**{key: with_unknown_fields(each) for key, each in value.items()}, **unknown}
    return [with_unknown_fields(each) for each in value] if isinstance(value, list) else value
