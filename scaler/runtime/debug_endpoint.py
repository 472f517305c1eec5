"""The scaler's HTTPS server: health and `/metrics`, and the last decision on an autoscaler."""

from collections.abc import Callable, Iterable

from aiohttp import web
from prometheus_client import CollectorRegistry

from scaler.algorithm.derivation import Derivation, encoded
from wire.api.status import not_found
from wire.process.background_tasks import BackgroundTasks
from wire.serving.health import Check
from wire.serving.metrics_and_version import Collect
from wire.serving.options import ServingOptions
from wire.serving.rendering import respond
from wire.serving.server import Delegates, Server

DECISIONS = "/debug/decisions"


def scaler_server(
    options: ServingOptions,
    delegates: Delegates,
    *,
    registry: CollectorRegistry,
    metrics: Collect = tuple,
    version: str,
    ready: Iterable[Check],
    derivation: Callable[[str], Derivation | None],
    background: BackgroundTasks,
) -> Server:
    """The server, not yet started. Raises `ServingConfigError`."""
    server = Server(
        options,
        delegates,
        registry=registry,
        metrics=metrics,
        version=version,
        ready=ready,
        background=background,
    )

    async def decision(request: web.Request) -> web.Response:
        """The derivation as JSON. The server has authorized the request for this path already."""
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        found = derivation(key)
        if found is None:
            raise not_found(
                f"no decision on {key}: it does not exist, this scaler does not watch its namespace, "
                "another replica reconciles it, or its first reconcile is still to come"
            )
        return respond(request, encoded(found))

    server.app.router.add_get(DECISIONS + "/{namespace}/{name}", decision)
    return server
