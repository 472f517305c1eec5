"""A running `Server` with generated certificates and a typed fake of the API server."""

import asyncio
import functools
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from testbed.certificates import Authority, KeyPair
from testbed.waiting import until
from wire.kube.metadata_only import NameAndLabels
from wire.kube.requests import JSON, OnAccepted
from wire.process.readiness import Check
from wire.serving.access_guard import USER
from wire.serving.attributes import ANONYMOUS
from wire.serving.options import ServingOptions
from wire.serving.server import Delegates, Server
from wire.serving.trust import ConfigMap

CONFIG_MAP = "extension-apiserver-authentication"
OWN_AUDIENCE = "https://kubernetes.default.svc"


class FakeApiServer:
    """Knows some tokens and the rights of each user; publishes its authentication configuration."""

    def __init__(self, published: Mapping[str, str]) -> None:
        self.published = published
        self.users_by_token: dict[str, dict[str, object]] = {}
        self.audiences_by_token: dict[str, set[str]] = {}
        """The token is for kube-apiserver, if it is not in here."""
        self.knows_audiences = True
        self.allowed: set[tuple[str, str]] = set()
        self.reviews: list[dict[str, dict[str, object]]] = []
        self.failure: Exception | None = None
        self.requested = asyncio.Event()
        self.answering = asyncio.Event()
        self.answering.set()
        self.reviews_garbage = asyncio.Event()
        """Until then, the reviews of unknown tokens and of what anonymous clients may do have no result."""
        self.reviews_garbage.set()

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.requested.set()
        await self.answering.wait()
        item = {"metadata": {"name": CONFIG_MAP, "resourceVersion": "1"}, "data": self.published}
        return msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": [item]})

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        timeout_seconds: float = 300.0,
        on_accepted: OnAccepted = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        await asyncio.Event().wait()
        yield b""

    async def create(self, path: str, body: bytes) -> bytes:
        if self.failure is not None:
            raise self.failure
        review = msgspec.json.decode(body)
        self.reviews.append(review)
        spec = review["spec"]
        if review["kind"] == "TokenReview":
            user = self.users_by_token.get(spec["token"])
            if user is None:
                await self.reviews_garbage.wait()
            found = self.audiences_by_token.get(spec["token"], {OWN_AUDIENCE})
            found &= set(spec.get("audiences") or [OWN_AUDIENCE])
            if not self.knows_audiences:
                return msgspec.json.encode({"status": {"authenticated": True, "user": user}})
            status = {"authenticated": bool(user and found), "user": user or {}}
            return msgspec.json.encode({"status": {**status, "audiences": sorted(found)}})
        if spec["user"] == ANONYMOUS:
            await self.reviews_garbage.wait()
        attributes = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        target = attributes.get("resource") or attributes["path"]
        allowed = (spec["user"], target) in self.allowed
        return msgspec.json.encode({"status": {"allowed": allowed, "reason": ""}})


class Served:
    """A server that listens, and requests to it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.base = f"https://127.0.0.1:{server.port}"

    async def get(
        self,
        path: str,
        *,
        pair: KeyPair | None = None,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Status code and body."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if pair is not None:
            tls.load_cert_chain(*pair.write(self.folder, "client"))
        connector = aiohttp.TCPConnector(ssl=tls)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.request(method, self.base + path, headers=headers) as response,
        ):
            return response.status, await response.text()


class World:
    """The cluster's CAs and its API server."""

    def __init__(self) -> None:
        self.clients = Authority("clients")
        self.proxies = Authority("front-proxies")
        self.api = FakeApiServer(
            {
                "client-ca-file": self.clients.certificate.decode(),
                "requestheader-client-ca-file": self.proxies.certificate.decode(),
                "requestheader-allowed-names": '["front-proxy"]',
                "requestheader-username-headers": '["X-Remote-User"]',
                "requestheader-uid-headers": '["X-Remote-Uid"]',
                "requestheader-group-headers": '["X-Remote-Group"]',
                "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            }
        )

    def config_map(self, allowed_names: str) -> ConfigMap:
        """What the API server publishes, with other allowed names."""
        data = {**self.api.published, "requestheader-allowed-names": allowed_names}
        return ConfigMap(metadata=NameAndLabels(name=CONFIG_MAP), data=data)


@pytest.fixture
def world() -> World:
    return World()


Serve = Callable[..., Awaitable[Served]]


def configuration_problem(server: Server) -> str | None:
    return server.health.problems("readyz").get("authentication-configuration")


async def who_am_i(request: web.Request) -> web.Response:
    user = request[USER]
    return web.json_response(
        {"name": user.name, "uid": user.uid, "groups": user.groups, "extra": dict(user.extra)}
    )


async def fails(_: web.Request) -> web.Response:
    raise ZeroDivisionError("a secret")


@pytest.fixture
async def serve(world: World, tmp_path: Path) -> AsyncIterator[Serve]:
    """Start a server in `world`; besides its own routes it has /who and /fails."""
    started: list[Server] = []

    async def start(
        options: ServingOptions | None = None,
        *,
        ready: tuple[Check, ...] = (),
        wait: bool = True,
    ) -> Served:
        options = options or ServingOptions(
            secure_port=1,
            authorization_always_allow_paths=("/healthz", "/livez", "/readyz", "/who"),
        )
        server = Server(
            msgspec.structs.replace(options, bind_address="127.0.0.1"),
            Delegates(world.api, world.api),
            registry=CollectorRegistry(),
            version="1.2.3",
            ready=ready,
            drain_seconds=0.05,
        )
        server.app.router.add_get("/who", who_am_i)
        server.app.router.add_get("/fails", fails)
        await server.start(port=0)
        started.append(server)
        if wait:
            problem = functools.partial(configuration_problem, server)
            await asyncio.to_thread(until, lambda: not problem(), what="the CAs")
        return Served(server, tmp_path)

    yield start
    for server in started:
        await server.stop()
