"""A log line for every request (`-v=3`, as in every Kubernetes API server)."""

import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from wire.serving.access_guard import USER
from wire.serving.client_address import client_address

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)


@web.middleware
async def log_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The request, its user, its status and its duration. It is the outermost middleware."""
    started = time.perf_counter()
    response = await handler(request)
    user = request.get(USER)
    log.info(
        "%s %s by %s from %s: %d in %.1f ms",
        request.method,
        request.path_qs,
        user.name if user else "an unauthenticated client",
        client_address(request),
        response.status,
        (time.perf_counter() - started) * 1000,
    )
    return response
