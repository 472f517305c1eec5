"""An external metrics API with constant values, in a separate process.

`python -m benchmarks.instruments.metrics_api PORT CERTIFICATE KEY COUNT`: the value of `queue_depth` with the selector
`queue=N` is `depth(N)`. It is fast, so that the controllers are measured rather than the API.
"""

import asyncio
import ssl
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import uvloop
from aiohttp import web as http

from testbed import ports, web
from testbed.processes import start
from testbed.programs import REPOSITORY

GROUP, VERSION, METRIC = "external.metrics.k8s.io", "v1beta1", "queue_depth"
HANGING, FAILING = "hanging", "failing"
"""Metrics whose requests get no response, and an error."""

TARGET = 10
"""The target value per replica."""


ARRIVALS_PATH = "/arrivals"


def arrivals(port: int) -> dict[str, list[float]]:
    """When requests for the metric arrived (seconds of a monotonic clock), by selector."""
    response = web.get(port, ARRIVALS_PATH, tls=web.trusting(None))
    assert response is not None, "the metrics API does not respond"
    return msgspec.json.decode(response.body, type=dict[str, list[float]])


def replicas(number: int) -> int:
    """The replicas for `depth(number)`: few enough for a single scale-up from 1."""
    return 2 + number % 4


def depth(number: int) -> int:
    """The value of a queue's metric."""
    return TARGET * replicas(number)


@contextmanager
def serving(certificate: Path, key: Path, count: int, directory: Path) -> Iterator[int]:
    """Start it; yields its port."""
    port = ports.reserve()
    command: list[str | Path] = [
        sys.executable,
        "-m",
        __name__,
        str(port),
        certificate,
        key,
        str(count),
    ]
    log_path = directory / "metrics-api.log"
    with start("metrics-api", command, log_path=log_path, directory=REPOSITORY) as process:
        tls = web.trusting(None)
        path = f"/apis/{GROUP}/{VERSION}"
        process.wait_until(lambda: web.is_ok(port, path, tls=tls), what="a response")
        yield port
    ports.release(port)


def application(count: int) -> http.Application:
    """Discovery and the metric, encoded in advance."""
    group_version = f"{GROUP}/{VERSION}"
    resource = {
        "name": METRIC,
        "singularName": "",
        "namespaced": True,
        "kind": "ExternalMetricValueList",
        "verbs": ["get"],
    }
    resources = msgspec.json.encode(
        {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": [resource],
        }
    )
    bodies = {f"queue={n}": _values(group_version, n) for n in range(count)}

    async def discovery(_: http.Request) -> http.Response:
        return http.Response(body=resources, content_type="application/json")

    arrivals: dict[str, list[float]] = defaultdict(list)

    async def value(request: http.Request) -> http.Response:
        selector = request.query["labelSelector"]
        arrivals[selector].append(time.monotonic())
        return http.Response(body=bodies[selector], content_type="application/json")

    async def hang(_: http.Request) -> http.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def fail(_: http.Request) -> http.Response:
        raise http.HTTPInternalServerError(text="the backend is unavailable")

    async def all_arrivals(_: http.Request) -> http.Response:
        return http.Response(body=msgspec.json.encode(arrivals), content_type="application/json")

    app = http.Application()
    app.router.add_get(f"/apis/{group_version}", discovery)
    metrics = f"/apis/{group_version}/namespaces/{{namespace}}"
    app.router.add_get(f"{metrics}/{METRIC}", value)
    app.router.add_get(f"{metrics}/{HANGING}", hang)
    app.router.add_get(f"{metrics}/{FAILING}", fail)
    app.router.add_get(ARRIVALS_PATH, all_arrivals)
    return app


def _values(group_version: str, number: int) -> bytes:
    item = {
        "metricName": METRIC,
        "metricLabels": {"queue": str(number)},
        "timestamp": "2026-01-01T00:00:00Z",
        "value": str(depth(number)),
    }
    return msgspec.json.encode(
        {
            "kind": "ExternalMetricValueList",
            "apiVersion": group_version,
            "metadata": {},
            "items": [item],
        }
    )


def main(port: str, certificate: str, key: str, count: str) -> None:
    """Serve until killed."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    uvloop.install()
    app = application(int(count))
    http.run_app(app, host="127.0.0.1", port=int(port), ssl_context=tls, access_log=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
