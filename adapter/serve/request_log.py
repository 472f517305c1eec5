"""A line for every request, for who looks for the one that goes wrong (`-v=3`, as in every Kubernetes API server)."""

import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from wire.serving.guard import USER

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)


@web.middleware
async def log_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Who asked what, what came of it, and how long it took. It stands outside all other middlewares."""
    started = time.perf_counter()
    response = await handler(request)
    user = request.get(USER)
    log.info(
        "%s %s by %s from %s: %d in %.1f ms",
        request.method,
        request.path_qs,
        user.name if user else "somebody who was refused",
        request.remote,
        response.status,
        (time.perf_counter() - started) * 1000,
    )
    return response
