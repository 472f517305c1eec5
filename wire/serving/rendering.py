"""Responses in the media type that the client accepts.

Upstream: apiserver v0.36.3, endpoints/handlers/negotiation. JSON and YAML; no protobuf, so a client that accepts nothing else gets 406, as it would for a custom resource.
"""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from wire.api.json_pieces import JSONPieces, in_pieces, too_large
from wire.api.status import StatusError, Unavailable, failure, service_unavailable
from wire.serving.large_responses import (
    CONVERTING,
    LARGE_BYTES,
    SENDING,
    LargeResponse,
    SendingBudget,
)

JSON = "application/json"
YAML = "application/yaml"

ACCEPT_LENGTH_MAX = 4_096
"""A longer Accept header is not read: it would take two seconds."""
# What kubectl, client-go and curl send when they want JSON: the fast path.
_PLAIN = {"", "*/*", JSON, f"{JSON}, */*", f"{JSON},*/*"}
_INTERACTIVE_CLIENTS = ("curl", "Wget", "Mozilla/")

_encoder = msgspec.json.Encoder()


def accept_of(request: web.BaseRequest) -> str:
    """The Accept header, for all that read it; empty without one. Raises `StatusError` 406 if it takes long to read."""
    accept = request.headers.get("Accept", "")
    if len(accept) > ACCEPT_LENGTH_MAX:
        raise failure(
            406,
            f"the Accept header has {len(accept)} characters: at most {ACCEPT_LENGTH_MAX} are read",
        )
    return accept


def negotiated_type(request: web.BaseRequest) -> str:
    """The media type of the response; clauses that want another document (`as=Table`) are skipped.

    Raises `StatusError` 406.
    """
    media_type = accepted_type(accept_of(request))
    if media_type is None:
        raise failure(406, f"only the following media types are accepted: {JSON}, {YAML}")
    return media_type


def respond(
    request: web.BaseRequest,
    document: Any,
    *,
    budget: SendingBudget = SENDING,
    yaml_budget: SendingBudget = CONVERTING,
) -> web.Response:
    """A response 200 with `document` (a Struct, encoded JSON, or pieces of it) as its body. The budgets are those of large ones.

    Raises `StatusError` 406, 413 if it is too large, and `Unavailable` while others take too much memory.
    """
    media_type = negotiated_type(request)
    found = document if isinstance(document, JSONPieces) else in_pieces(document)
    if media_type == YAML:
        return _yaml_response(found, yaml_budget)
    pieces, own_bytes = [*found.pieces, b"\n"], found.own_bytes
    if found.size_bytes <= INDENTED_BYTES_MAX and _wants_indentation(request):
        pieces = [_indented(b"".join(found.pieces))]
        own_bytes = len(pieces[0])
    if found.size_bytes < LARGE_BYTES:
        return web.Response(body=b"".join(pieces), content_type=JSON)
    if own_bytes > budget.bytes_max:
        raise too_large(budget.bytes_max)
    return LargeResponse(pieces, content_type=JSON, own_bytes=own_bytes, budget=budget)


def respond_with_error(request: web.BaseRequest, error: StatusError) -> web.Response:
    """The Status of `error`; in JSON if the client accepts no supported type."""
    media_type = JSON
    with contextlib.suppress(StatusError):
        media_type = negotiated_type(request)
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}
    if error.details is not None and error.details.retry_after_seconds:
        headers["Retry-After"] = str(error.details.retry_after_seconds)
    body = _encoder.encode(error.to_status())
    body = _indented(body) if _wants_indentation(request) else body + b"\n"
    return web.Response(
        body=yaml_of(body) if media_type == YAML else body,
        status=error.code,
        headers=headers,
        content_type=media_type,
    )


def as_status(error: Unavailable) -> StatusError:
    """503 for a backend that could not be reached; the message contains the cause."""
    if error.retry_after_seconds is None:
        return service_unavailable(error.message)
    return service_unavailable(
        error.message, retry_after_seconds=max(1, round(error.retry_after_seconds))
    )


def accepted_type(accept: str) -> str | None:
    """The media type of the response by the Accept header; None: none is supported."""
    if accept in _PLAIN:
        return JSON
    for clause in _by_preference(accept):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        # `as=Table` requests another document; kubectl lists plain JSON after it.
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


class _LargeYAML(LargeResponse):
    """A response that becomes YAML in a thread when it is sent: PyYAML takes a second for 20,000 metrics."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Convert before the headers, which contain the length, are sent."""
        loop = asyncio.get_running_loop()
        encoded = b"".join(self._pieces)
        self._pieces.clear()
        self._pieces.append(await loop.run_in_executor(_converter, yaml_of, encoded))
        return await super().prepare(request)


def _yaml_response(found: JSONPieces, budget: SendingBudget) -> web.Response:
    if found.size_bytes < _LARGE_YAML_BYTES:
        return web.Response(body=yaml_of(b"".join(found.pieces)), content_type=YAML)
    own_bytes = YAML_COST * found.size_bytes
    if own_bytes > budget.bytes_max:
        at_most_mib = budget.bytes_max / YAML_COST / (1 << 20)
        raise failure(
            406,
            f"a response of more than {at_most_mib:.0f} MiB is not converted to YAML: request JSON",
        )
    return _LargeYAML(found.pieces, content_type=YAML, own_bytes=own_bytes, budget=budget)


def yaml_of(encoded: bytes) -> bytes:
    """JSON as YAML, in parts: PyYAML's writer lets no other thread run while it writes one document."""
    document = msgspec.json.decode(encoded)
    if not isinstance(document, dict) or not document:
        return msgspec.yaml.encode(document)
    parts = []
    for key, value in document.items():
        if isinstance(value, list) and len(value) > _ITEMS_AT_ONCE:
            parts.append(f"{key}:\n".encode())
            parts += [
                msgspec.yaml.encode(value[start : start + _ITEMS_AT_ONCE])
                for start in range(0, len(value), _ITEMS_AT_ONCE)
            ]
        else:
            parts.append(msgspec.yaml.encode({key: value}))
    return b"".join(parts)


PRETTY_LENGTH_MAX = 8_192
"""The response to a longer URL is not indented."""
INDENTED_BYTES_MAX = 1 << 20
"""Nor is a larger response, which indentation would double."""
YAML_COST = 8
"""How many times its JSON a response takes while it is converted to YAML, and afterwards, roughly."""
_LARGE_YAML_BYTES = 16_384
_ITEMS_AT_ONCE = 20
_converter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="yaml")


def _indented(encoded: bytes) -> bytes:
    return msgspec.json.format(encoded, indent=2)


def _wants_indentation(request: web.BaseRequest) -> bool:
    """`?pretty`, or an interactive client (negotiation.isPrettyPrint)."""
    # The raw path first: decoding a query for a parameter that it rarely has is expensive, and a long one stops the event loop.
    may_be_given = len(request.raw_path) <= PRETTY_LENGTH_MAX and "pretty" in request.raw_path
    if may_be_given and (pretty := request.query.get("pretty")):
        return pretty in ("1", "t", "T", "true", "TRUE", "True")
    return request.headers.get("User-Agent", "").startswith(_INTERACTIVE_CLIENTS)
