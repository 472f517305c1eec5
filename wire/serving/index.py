"""`/` and `/index.html`: the paths that this server has, as every Kubernetes API server lists them."""

from collections.abc import Callable, Iterable

import msgspec
from aiohttp import web

Paths = Callable[[], Iterable[str]]


class _RootPaths(msgspec.Struct, frozen=True):
    """meta/v1 RootPaths."""

    paths: list[str]


def add_index_routes(app: web.Application, more: Paths) -> None:
    """List the routes of `app` that have a fixed path, and what `more` returns at the time of the request."""

    async def index(_: web.Request) -> web.Response:
        found = sorted({*_fixed_paths(app), *more()})
        body = msgspec.json.format(msgspec.json.encode(_RootPaths(found)), indent=2)
        return web.Response(body=body, content_type="application/json")

    for path in ("/", "/index.html"):
        app.router.add_route("*", path, index)


def _fixed_paths(app: web.Application) -> Iterable[str]:
    for resource in app.router.resources():
        path = resource.canonical
        if "{" not in path and not path.endswith("/") and path != "/index.html":
            yield path
