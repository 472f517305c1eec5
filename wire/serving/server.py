"""The server of both programs, composed from the other modules of this package.

server = Server(options, client, registry=..., version="1.2.3", ready=[Check(...)])
server.app.router.add_get("/apis", handler)     # handlers find request[USER]
await server.start()
...
await server.stop()
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry

from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.connection import connect
from wire.kube.requests import Writer
from wire.process.background_tasks import BackgroundTasks, stopped
from wire.process.readiness import Check
from wire.serving.access_guard import (
    USER,
    admission,
    errors_to_status,
    guard,
)
from wire.serving.attributes import ANONYMOUS, Attributes
from wire.serving.authentication import Authenticator
from wire.serving.authorization import Authorizer
from wire.serving.certificates import Pair
from wire.serving.health import Health
from wire.serving.index import Paths, add_index_routes
from wire.serving.listener import Listener
from wire.serving.metrics_and_version import (
    METRICS,
    Collect,
    add_metrics_route,
    add_version_route,
    version_of,
)
from wire.serving.options import ServingOptions
from wire.serving.refusals import Refusals
from wire.serving.review_queue import ReviewQueue
from wire.serving.tls import ServerTLS
from wire.serving.trust import TrustSource

# How often certificate and CA files are checked; each check is a stat of a handful of files.
FILES_CHECK_SECONDS = 5.0

log = logging.getLogger(__name__)


class Delegates:
    """The clients for reviews: the program's own, or those of --authentication- and --authorization-kubeconfig."""

    def __init__(self, authentication: KubeClient | None, authorization: Writer | None) -> None:
        self.authentication = authentication
        self.authorization = authorization
        self._own: list[KubeClient] = []

    @classmethod
    async def connected(
        cls, options: ServingOptions, client: KubeClient | None, *, user_agent: str
    ) -> "Delegates":
        """Raises `ConnectionConfigError`."""
        delegates = cls(client, client)
        if options.authentication_kubeconfig is not None:
            delegates.authentication = await delegates._connected(
                options.authentication_kubeconfig, user_agent
            )
        if options.authorization_kubeconfig is not None:
            delegates.authorization = await delegates._connected(
                options.authorization_kubeconfig, user_agent
            )
        return delegates

    async def _connected(self, kubeconfig: Path, user_agent: str) -> KubeClient:
        client = KubeClient(await connect(kubeconfig, user_agent=user_agent))
        self._own.append(client)
        return client

    async def close(self) -> None:
        """Close the clients that `connected` created; the program's own stays open."""
        for client in self._own:
            await client.close()


class RenewedCertificate(Protocol):
    """A serving certificate that is renewed while the server runs."""

    @property
    def problem(self) -> str | None:
        """Why it is not served, or not trusted; None if it is."""
        ...

    async def run(self, serve: Callable[[Pair], None]) -> None:
        """Serve each new one, until cancelled."""
        ...


class Server:
    """HTTPS with delegated authentication and authorization, health, `/metrics` and `/version`."""

    def __init__(
        self,
        options: ServingOptions,
        delegates: Delegates,
        *,
        registry: CollectorRegistry,
        metrics: Collect = tuple,
        on_crash: Callable[[], object] = lambda: None,
        on_refusal: Callable[[str], object] = lambda _: None,
        version: str,
        offers: tuple[str, ...] = (),
        ready: Iterable[Check] = (),
        paths: Paths = tuple,
        background: BackgroundTasks | None = None,
        certificate: RenewedCertificate | None = None,
        drain_seconds: float = 20.0,
        trust_wait_seconds: float = 3.0,
    ) -> None:
        """`offers`: of /version. `paths` are listed at `/` besides the routes with fixed paths. `ready` are the program's
        checks; the server's own tasks join `background`, and /readyz fails when one of those has ended.
        `on_crash` is called for each metric that is missing in /metrics because of a bug, and `on_refusal` with
        the reason when a client takes too much. `certificate` replaces the self-signed certificate of the options. Raises `ServingConfigError`.

        `start` waits up to `trust_wait_seconds` for the client CAs and then listens without them: health
        probes must be answered while the API server is unavailable.
        """
        self._options = options
        self._delegates = delegates
        self._certificate = certificate
        self._trust_wait_seconds = trust_wait_seconds
        self._stopping = False
        self._background = background or BackgroundTasks()
        self._tasks: list[asyncio.Task[None]] = []
        self._tls = ServerTLS(options) if options.secure_port else None
        self._trust = TrustSource(options, delegates.authentication, on_change=self._trusted)
        refused = Refusals(on_refusal).note
        queue = ReviewQueue(refused=refused)
        self.authenticator = Authenticator(
            self._trust,
            delegates.authentication,
            audiences=options.api_audiences,
            token_cache_seconds=options.authentication_token_cache_seconds,
            queue=queue,
        )
        self.authorizer = Authorizer(
            delegates.authorization,
            always_allow_paths=options.authorization_always_allow_paths,
            allowed_cache_seconds=options.authorization_allowed_cache_seconds,
            denied_cache_seconds=options.authorization_denied_cache_seconds,
            queue=queue,
        )
        self.admit = admission(self.authenticator, self.authorizer)
        self.app = web.Application(middlewares=[errors_to_status, guard(self.admit)])
        self.health = Health(
            ready=(*self._checks(), *ready), may_read=partial(self.may_get, METRICS)
        )
        self.health.add_routes(self.app)
        add_metrics_route(self.app, registry, metrics, on_crash=on_crash)
        add_version_route(self.app, version_of(version, offers))
        add_index_routes(self.app, lambda: (*self.health.paths(), *paths()))
        self._listener = Listener(self.app, drain_seconds=drain_seconds, refused=refused)
        if self._tls is not None:
            self._tls.trust_clients_of(self._trust.current.bundles())

    @property
    def port(self) -> int:
        """The port it listens on, once started."""
        return self._listener.port

    @property
    def serving_certificate(self) -> bytes:
        """What is served now, with its chain (PEM); empty with --secure-port=0."""
        return self._tls.certificate if self._tls is not None else b""

    async def start(self, *, port: int | None = None) -> None:
        """Accept connections; `port` overrides the flag (0: any free port). Does nothing with --secure-port=0.

        Raises `ServingConfigError`.
        """
        if self._tls is None:
            log.info("not serving, because of --secure-port=0")
            return
        options = self._options
        self._run(self._trust.run(), name="authentication configuration")
        if self._certificate is not None:
            self._run(self._certificate.run(self._tls.serve), name="serving certificate")
        # The server requests no certificate on a connection made before the client CAs are known; a
        # persistent connection, such as the aggregator's, would stay anonymous.
        await self._trust.synced(wait_seconds=self._trust_wait_seconds)
        await self._listener.start(
            options.bind_address,
            options.secure_port if port is None else port,
            tls=self._tls.context,
            share_port=options.permit_port_sharing,
        )
        self._run(self._follow_files(self._tls), name="certificate files")
        log.info("serving on https://%s:%d", options.bind_address, self.port)

    async def stop(self) -> None:
        """Fail /readyz, drain and close."""
        self._stopping = True
        await self._listener.stop()
        for task in reversed(self._tasks):
            await stopped(task)
        await self._delegates.close()

    async def may_get(self, path: str, request: web.Request) -> bool:
        """Whether the user of a request may get this path, too. Anonymous users may not."""
        user = request[USER]
        if user.name == ANONYMOUS:
            return False
        try:
            await self.authorizer.authorize(user, Attributes(verb="get", path=path))
        except (StatusError, Unavailable):
            return False
        return True

    def _checks(self) -> tuple[Check, ...]:
        certificate = self._certificate
        managed = (
            (Check("serving-certificate", lambda: certificate.problem),)
            if certificate is not None
            else ()
        )
        return (
            *managed,
            Check("shutdown", lambda: "process is shutting down" if self._stopping else None),
            Check("background-tasks", lambda: self._background.problem),
            Check("authentication-configuration", lambda: self._trust.problem),
        )

    def _trusted(self, trust: Any) -> None:
        if self._tls is not None:
            self._tls.trust_clients_of(trust.bundles())

    def _run(self, work: Coroutine[Any, Any, None], *, name: str) -> None:
        self._tasks.append(self._background.start(work, name=name))

    async def _follow_files(self, tls: ServerTLS) -> None:
        while True:
            await asyncio.sleep(FILES_CHECK_SECONDS)
            tls.reload_if_changed()
            self._trust.reread_files()
