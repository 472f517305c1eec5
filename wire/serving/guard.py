"""What stands before every handler: errors become Status documents, and nobody passes unasked."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from wire.serving.attributes import Attributes, User, attributes_of
from wire.serving.authentication import Authenticator
from wire.serving.authorization import Authorizer
from wire.serving.rendering import as_status, respond_with_error
from wire.status import (
    StatusError,
    Unavailable,
    bad_request,
    failure,
    internal_error,
    method_not_allowed,
)

_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
AttributesOf = Callable[[web.Request], Attributes]

USER: web.RequestKey[User] = web.RequestKey("user", User)
"""Who sent a request that has passed `Guard`: `request[USER]`."""

log = logging.getLogger(__name__)


def request_attributes(request: web.Request) -> Attributes:
    """What a request asks for, by its path, as every API server reads it."""
    return attributes_of(request.method, request.path, request.query_string)


@web.middleware
async def errors_to_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The outermost middleware: no exception of any kind reaches a client as anything but a Status."""
    try:
        return await handler(request)
    except StatusError as error:
        return respond_with_error(request, error)
    except Unavailable as error:
        return respond_with_error(request, as_status(error))
    except web.HTTPNotFound:
        # As the generic API server answers a path that it knows nothing of.
        return web.Response(
            text="404 page not found\n", status=404, headers={"X-Content-Type-Options": "nosniff"}
        )
    except web.HTTPMethodNotAllowed:
        refused = method_not_allowed(
            "the server does not allow this method on the requested resource"
        )
        return respond_with_error(request, refused)
    except web.HTTPException as answer:
        if answer.status < 400:
            raise
        return respond_with_error(request, failure(answer.status, answer.text or answer.reason))
    except (asyncio.CancelledError, ConnectionResetError):
        raise
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return respond_with_error(
            request, internal_error("a fault in this server; its log has the traceback")
        )


def _refuse_malformed(raw_path: str) -> None:
    """Rights and routes must go by one reading of a path, and half an escape has none (Go's net/http refuses it, too)."""
    if "%" in raw_path and _MALFORMED_ESCAPE.search(raw_path.partition("?")[0]):
        raise bad_request(
            "the path has a % that no two hexadecimal digits follow: escape it as %25"
        )


def guard(
    authenticator: Authenticator,
    authorizer: Authorizer,
    attributes: AttributesOf = request_attributes,
) -> Middleware:
    """A middleware that lets a request pass when its sender may; `request[USER]` is set for the handler."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        _refuse_malformed(request.raw_path)
        asked = attributes(request)
        user = await authenticator.authenticate(request)
        await authorizer.authorize(user, asked)
        request[USER] = user
        return await handler(request)

    return guarded
