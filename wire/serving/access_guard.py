"""The middlewares before every handler: authentication, authorization, and errors as Status documents."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from wire.api.status import (
    StatusError,
    Unavailable,
    failure,
    internal_error,
    method_not_allowed,
)
from wire.serving.attributes import ANONYMOUS, User, attributes_of
from wire.serving.authentication import Authenticator
from wire.serving.authorization import Authorizer
from wire.serving.client_address import client_address
from wire.serving.http_connection import HTTPConnection, forget_frames
from wire.serving.impersonation import impersonation
from wire.serving.rendering import as_status, respond_with_error
from wire.serving.request_path import check_path

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Admit = Callable[[web.Request], Awaitable[User]]

USER: web.RequestKey[User] = web.RequestKey("user", User)
"""The user of a request that passed `guard`: `request[USER]`."""

log = logging.getLogger(__name__)


@web.middleware
async def errors_to_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The outermost middleware: every exception reaches the client as a Status."""
    try:
        return await handler(request)
    except (asyncio.CancelledError, ConnectionResetError):
        raise
    except Exception as error:
        if isinstance(error, web.HTTPException) and error.status < 400:
            raise
        response = _status_of(request, error)
        forget_frames(error)
        return response


def _status_of(request: web.Request, error: Exception) -> web.Response:
    match error:
        case StatusError():
            return respond_with_error(request, error)
        case Unavailable():
            return respond_with_error(request, as_status(error))
        case web.HTTPNotFound():
            # The generic API server's response to an unknown path.
            return web.Response(
                text="404 page not found\n",
                status=404,
                headers={"X-Content-Type-Options": "nosniff"},
            )
        case web.HTTPMethodNotAllowed():
            refused = method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
            return respond_with_error(request, refused)
        case web.HTTPException():
            return respond_with_error(request, failure(error.status, error.text or error.reason))
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    return respond_with_error(
        request,
        internal_error("an internal error occurred; the log of this server has the traceback"),
    )


def admission(
    authenticator: Authenticator,
    authorizer: Authorizer,
) -> Admit:
    """Authenticate and authorize a request: the user that it is for, which is the impersonated one if the client may impersonate it.

    It may be called again while a long request is answered. Raises `StatusError`, and `Unavailable` if a review failed.
    """

    async def admit(request: web.Request) -> User:
        check_path(request.raw_path.partition("?")[0])
        requested = attributes_of(request.method, request.path, request.rel_url.raw_query_string)
        client = await authenticator.authenticate(request)
        if client.name != ANONYMOUS and isinstance(request.protocol, HTTPConnection):
            request.protocol.authenticated()
        user = await _impersonated(client, request, authorizer)
        await authorizer.authorize(user, requested, address=client_address(request))
        return user

    return admit


def guard(admit: Admit) -> Middleware:
    """A middleware that admits each request, and sets `request[USER]` for the handler."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[USER] = await admit(request)
        return await handler(request)

    return guarded


async def _impersonated(user: User, request: web.Request, authorizer: Authorizer) -> User:
    """The user that the request is for. Raises `StatusError` 403 if the client may not impersonate it."""
    found = impersonation(request.headers)
    if found is None:
        return user
    for attributes in found.required:
        await authorizer.authorize(user, attributes, address=client_address(request))
    log.debug("%s impersonates %s", user.name, found.user.name)
    return found.user
