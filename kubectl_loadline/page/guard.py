"""Who may request the page: the browser that was given its address, and no other site or user of the machine.

| attack | what prevents it |
|---|---|
| another user or program of the machine connects to the port | every path begins with a random token |
| another site sends requests (cross-site) | it does not know the token; a token in a path is not sent along as a cookie is |
| another site resolves its own name to 127.0.0.1 (DNS rebinding) | the Host header must be 127.0.0.1 or localhost |
| text of the cluster contains HTML or script | templates escape; the Content-Security-Policy allows only the page's own files |
| another user of the machine lists command lines, such as that of the browser | the browser opens a file that only this user can read, and which leads to the page (`address_file`) |
| the token leaks in the Referer header | Referrer-Policy: no-referrer |
"""

import hmac
import secrets
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TOKEN_BYTES: Final = 24


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def guard(token: str) -> Middleware:
    """Refuses every request that is not a GET from the page's own address with its token."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = _refusal(request, token)
        if response is None:
            try:
                response = await handler(request)
            except web.HTTPException as error:
                response = web.Response(status=error.status, text=error.reason)
        response.headers.update(HEADERS)
        return response

    return guarded


def _refusal(request: web.Request, token: str) -> web.StreamResponse | None:
    host, _, _ = request.host.partition(":")
    if host not in ("127.0.0.1", "localhost"):
        return web.Response(status=421, text="This page is served on 127.0.0.1 only.")
    first = request.path.split("/")[1]
    if not hmac.compare_digest(first.encode(), token.encode()):
        return web.Response(status=403, text="Open the URL that kubectl loadline ui printed.")
    if request.method not in ("GET", "HEAD"):
        return web.Response(status=405, text="This page is read-only.", headers={"Allow": "GET"})
    return None
