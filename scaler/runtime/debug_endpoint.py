"""The scaler's HTTPS server: health and `/metrics`, and the last decision on an autoscaler.

Access to `/debug/decisions/*` is checked before, as for every path. Whether the client may get that autoscaler is checked here
too, since the decision shows its spec, the values of its metrics and its pods.
"""

from collections.abc import Callable, Iterable

from aiohttp import web
from prometheus_client import CollectorRegistry

from scaler.algorithm.derivation import Derivation, encoded
from scaler.api.kinds import WatchedKind
from wire.api.debug_paths import DECISIONS
from wire.api.json_pieces import JSONPieces
from wire.api.status import not_found
from wire.process.background_tasks import BackgroundTasks
from wire.process.readiness import Check
from wire.serving.access_guard import USER
from wire.serving.attributes import Attributes
from wire.serving.metrics_and_version import Collect
from wire.serving.options import ServingOptions
from wire.serving.rendering import respond
from wire.serving.server import Delegates, Server


def scaler_server(
    options: ServingOptions,
    delegates: Delegates,
    *,
    registry: CollectorRegistry,
    metrics: Collect = tuple,
    on_crash: Callable[[], object] = lambda: None,
    on_refusal: Callable[[str], object] = lambda _: None,
    version: str,
    ready: Iterable[Check],
    kind: WatchedKind,
    derivation: Callable[[str], Derivation | None],
    metrics_connection: Callable[[], str],
    background: BackgroundTasks,
) -> Server:
    """The server, not yet started. Raises `ServingConfigError`.

    `kind` is that of the autoscalers. `metrics_connection` says how metrics are read at present.
    """
    server = Server(
        options,
        delegates,
        registry=registry,
        metrics=metrics,
        on_crash=on_crash,
        on_refusal=on_refusal,
        version=version,
        ready=ready,
        background=background,
    )

    async def decision(request: web.Request) -> web.Response:
        """The derivation as JSON, with `metrics_connection` beside its fields."""
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        await server.authorizer.authorize(request[USER], _getting(kind, namespace, name))
        key = f"{namespace}/{name}"
        found = derivation(key)
        if found is None:
            raise not_found(
                f"no decision on {key}: it does not exist, this scaler does not watch its namespace, "
                "another replica reconciles it, or it has not been reconciled yet"
            )
        body = encoded(found, metrics_connection=metrics_connection())
        return respond(request, JSONPieces([body], size_bytes=len(body), own_bytes=len(body)))

    server.app.router.add_get(DECISIONS + "/{namespace}/{name}", decision)
    return server


def _getting(kind: WatchedKind, namespace: str, name: str) -> Attributes:
    """The attributes of a GET of this autoscaler."""
    return Attributes(
        verb="get",
        path=kind.object(namespace, name),
        is_resource_request=True,
        namespace=namespace,
        api_group=kind.group,
        api_version=kind.version,
        resource=kind.plural,
        name=name,
    )
