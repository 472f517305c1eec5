"""The three metrics APIs with constant or changing values, in a separate process.

`python -m benchmarks.instruments.metrics_api PORT CERTIFICATE KEY COUNT`: the values are those of `metric_kinds`. It is fast, so
that the controllers are measured rather than the API.
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
from aiohttp.typedefs import Handler

from benchmarks.instruments.metric_kinds import METRIC, SHARES, MetricKind, response
from testbed import ports, web
from testbed.processes import start
from testbed.programs import REPOSITORY

HANGING, FAILING = "hanging", "failing"
"""Metrics whose requests get no response, and an error."""

ARRIVALS_PATH, CHANGING_PATH = "/arrivals", "/changing"


def arrivals(port: int) -> dict[str, list[float]]:
    """When requests for the metric arrived (seconds of a monotonic clock), by selector."""
    response = web.get(port, ARRIVALS_PATH, tls=web.trusting(None))
    assert response is not None, "the metrics API does not respond"
    return msgspec.json.decode(response.body, type=dict[str, list[float]])


def set_changing(port: int, *, changing: bool) -> None:
    """Whether the value is another one in each response to the same request."""
    response = web.get(port, f"{CHANGING_PATH}?changing={int(changing)}", tls=web.trusting(None))
    assert response is not None, "the metrics API does not respond"
    assert response.status == 200, response.text


@contextmanager
def serving(certificate: Path, key: Path, count: int, directory: Path) -> Iterator[tuple[int, int]]:
    """Start it; yields its port and its process id."""
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
        path = f"/apis/{MetricKind.EXTERNAL.group}/{MetricKind.EXTERNAL.version}"
        process.wait_until(lambda: web.is_ok(port, path, tls=tls), what="a response")
        yield port, process.pid
    ports.release(port)


def application(count: int) -> http.Application:
    """Discovery and the metrics, encoded in advance."""
    values = _Values(count)
    arrivals: dict[str, list[float]] = defaultdict(list)

    async def external(request: http.Request) -> http.Response:
        selector = request.query["labelSelector"]
        arrivals[selector].append(time.monotonic())
        return values.next(MetricKind.EXTERNAL, selector.removeprefix("queue="))

    async def of_object(request: http.Request) -> http.Response:
        return values.next(MetricKind.OBJECT, request.match_info["name"].removeprefix("web-"))

    async def of_pods(request: http.Request) -> http.Response:
        selector = request.query["labelSelector"]
        return values.next(MetricKind.PODS, selector.removeprefix("app=web-"))

    async def usage(request: http.Request) -> http.Response:
        selector = request.query["labelSelector"]
        return values.next(MetricKind.RESOURCE, selector.removeprefix("app=web-"))

    async def hang(_: http.Request) -> http.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def fail(_: http.Request) -> http.Response:
        raise http.HTTPInternalServerError(text="the backend is unavailable")

    async def all_arrivals(_: http.Request) -> http.Response:
        return http.Response(body=msgspec.json.encode(arrivals), content_type="application/json")

    async def change(request: http.Request) -> http.Response:
        values.changing = request.query["changing"] == "1"
        return http.Response()

    app = http.Application()
    for group_version in {f"{kind.group}/{kind.version}" for kind in MetricKind}:
        app.router.add_get(f"/apis/{group_version}", _discovery(group_version))
    metrics = {kind: _metrics_path(kind) for kind in MetricKind}
    app.router.add_get(f"{metrics[MetricKind.EXTERNAL]}/{METRIC}", external)
    app.router.add_get(f"{metrics[MetricKind.EXTERNAL]}/{HANGING}", hang)
    app.router.add_get(f"{metrics[MetricKind.EXTERNAL]}/{FAILING}", fail)
    app.router.add_get(f"{metrics[MetricKind.OBJECT]}/services/{{name}}/{METRIC}", of_object)
    app.router.add_get(f"{metrics[MetricKind.PODS]}/pods/*/{METRIC}", of_pods)
    app.router.add_get(f"{metrics[MetricKind.RESOURCE]}/pods", usage)
    app.router.add_get(ARRIVALS_PATH, all_arrivals)
    app.router.add_get(CHANGING_PATH, change)
    return app


class _Values:
    """The responses for all autoscalers. While they change, each differs from the one before."""

    def __init__(self, count: int) -> None:
        self.changing = False
        self._count = count
        self._turns: dict[tuple[MetricKind, str], int] = defaultdict(int)
        self._encoded: dict[tuple[MetricKind, str, int], bytes] = {}

    def next(self, kind: MetricKind, number: str) -> http.Response:
        """For the autoscaler of this number."""
        turn = 0
        if self.changing:
            turn = self._turns[kind, number] = (self._turns[kind, number] + 1) % len(SHARES)
        body = self._encoded.get((kind, number, turn))
        if body is None:
            assert int(number) < self._count, number
            body = response(kind, int(number), SHARES[turn])
            self._encoded[kind, number, turn] = body
        return http.Response(body=body, content_type="application/json")


def _metrics_path(kind: MetricKind) -> str:
    return f"/apis/{kind.group}/{kind.version}/namespaces/{{namespace}}"


def _discovery(group_version: str) -> Handler:
    body = msgspec.json.encode(
        {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": [],
        }
    )

    async def discovery(_: http.Request) -> http.Response:
        return http.Response(body=body, content_type="application/json")

    return discovery


def main(port: str, certificate: str, key: str, count: str) -> None:
    """Serve until killed."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    uvloop.install()
    app = application(int(count))
    http.run_app(app, host="127.0.0.1", port=int(port), ssl_context=tls, access_log=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
