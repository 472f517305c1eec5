"""Documents as bytes, in the form that the client accepts.

Upstream: apiserver v0.36.3, endpoints/handlers/negotiation, and go-restful's Route.matchesAccept before it. JSON and
YAML; no protobuf, so a client that takes nothing else gets 406, as it would for a custom resource.
"""

import functools
from typing import Any

import msgspec
from aiohttp import web

from wire.status import StatusDetails, StatusError, Unavailable, failure, service_unavailable

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
AVAILABLE = (JSON, YAML, PROTOBUF, f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
"""What upstream names when nothing matches, in its order."""

# What kubectl, client-go and curl send when they want JSON: no need to look closer.
_PLAIN = {None, "", "*/*", JSON, f"{JSON}, */*", f"{JSON},*/*"}
_PEOPLE = ("curl", "Wget", "Mozilla/")

_encoder = msgspec.json.Encoder()


def check_representation(request: web.BaseRequest) -> None:
    """Before anything is found out: one media type of Accept must be one of ours to the letter, or `*/*`.

    Parameters and weights do not count here, nor does `application/*`. Raises `StatusError` 406.
    """
    accept = request.headers.get("Accept")
    if accept in _PLAIN or _names_a_representation(accept or ""):
        return
    raise failure(
        406,
        f"406: Not Acceptable\n\nAvailable representations: {', '.join(AVAILABLE)}",
        StatusDetails(),
    )


@functools.lru_cache(maxsize=256)
def _names_a_representation(accept: str) -> bool:
    named = {clause.split(";")[0].strip() for clause in accept.split(",")}
    return not named.isdisjoint({"*/*", *AVAILABLE})


def check_form(request: web.BaseRequest) -> str:
    """The media type to answer in, of those that also have the form that Accept wants (`as=Table` is another form).

    Raises `StatusError` 406.
    """
    media_type = accepted_type(request.headers.get("Accept"))
    if media_type is None:
        raise failure(406, f"only the following media types are accepted: {JSON}, {YAML}")
    return media_type


def respond(
    request: web.BaseRequest,
    document: Any,
    *,
    code: int = 200,
    headers: dict[str, str] | None = None,
) -> web.Response:
    """The answer with `document` (a Struct, or JSON that is ready, as bytes) as its body.

    Raises `StatusError` 406.
    """
    media_type = check_form(request)
    return web.Response(
        body=_body(request, document, media_type),
        status=code,
        headers=headers,
        content_type=media_type,
    )


def respond_with_error(request: web.BaseRequest, error: StatusError) -> web.Response:
    """The Status of `error`; in JSON where the client accepts nothing that we speak."""
    media_type = accepted_type(request.headers.get("Accept")) or JSON
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}
    if error.details is not None and error.details.retry_after_seconds:
        headers["Retry-After"] = str(error.details.retry_after_seconds)
    return web.Response(
        body=_body(request, error.to_status(), media_type),
        status=error.code,
        headers=headers,
        content_type=media_type,
    )


def as_status(error: Unavailable) -> StatusError:
    """503 for what could not be asked; the cause stays in the message."""
    if error.retry_after_seconds is None:
        return service_unavailable(error.message)
    return service_unavailable(
        error.message, retry_after_seconds=max(1, round(error.retry_after_seconds))
    )


@functools.lru_cache(maxsize=256)
def accepted_type(accept: str | None) -> str | None:
    """The media type to answer in, by the Accept header; None: nothing that we speak."""
    if accept in _PLAIN:
        return JSON
    for clause in _by_preference(accept or ""):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        # `as=Table` asks for another document; kubectl lists plain JSON after it.
        if any(parameter.startswith("as=") for parameter in parameters):
            continue
        if media_type in ("*/*", "application/*", JSON):
            return JSON
        if media_type in (YAML, "text/yaml"):
            return YAML
    return None


def _by_preference(accept: str) -> list[str]:
    def weight(clause: str) -> float:
        for parameter in clause.split(";")[1:]:
            name, _, value = parameter.strip().partition("=")
            if name == "q":
                try:
                    return float(value)
                except ValueError:
                    return 0.0
        return 1.0

    clauses = [clause.strip() for clause in accept.split(",") if clause.strip()]
    # A weight of 0 puts a type last and does not exclude it, as in upstream's goautoneg.
    return sorted(clauses, key=weight, reverse=True)


def _body(request: web.BaseRequest, document: Any, media_type: str) -> bytes:
    encoded = document if isinstance(document, bytes) else _encoder.encode(document)
    if media_type == YAML:
        return msgspec.yaml.encode(msgspec.json.decode(encoded))
    if _wants_indentation(request):
        return msgspec.json.format(encoded, indent=2)
    return encoded + b"\n"


def _wants_indentation(request: web.BaseRequest) -> bool:
    """`?pretty`, or a program through which people look (negotiation.isPrettyPrint)."""
    # The raw path first: decoding a query of selectors for a parameter it seldom has is dear.
    if "pretty" in request.raw_path and (pretty := request.query.get("pretty")) is not None:
        return pretty not in ("0", "f", "F", "false", "FALSE", "False")
    return request.headers.get("User-Agent", "").startswith(_PEOPLE)
