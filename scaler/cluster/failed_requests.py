"""How failed requests to the API server are worded."""

from wire.api.quoting import go_quote
from wire.api.status import StatusError, Unavailable

# What client-go reports for a response without a meta/v1 Status (apimachinery pkg/api/errors,
# NewGenericServerResponse); users know these texts from their HPAs.
_GENERIC_MESSAGES: dict[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}

# For 403, 406 and 415 client-go quotes the server's text, which names the missing right or the accepted types.
NOT_ACCEPTABLE = 406
_QUOTED_CODES = (403, NOT_ACCEPTABLE, 415)
_NOT_ACCEPTABLE_MESSAGE = (
    "the server was unable to respond with a content type that the client supports"
)


def worded(
    error: StatusError | Unavailable, *, verb: str, resource: str, group: str = "", name: str = ""
) -> str:
    """The error as the HPA controller words it: the API server's own message if it sent one."""
    if isinstance(error, Unavailable) or not error.generic:
        return error.message
    known = _generic_message(error)
    qualified = f"{resource}.{group}" if group else resource
    return f"{known} ({verb} {qualified} {name})" if name else f"{known} ({verb} {qualified})"


def _generic_message(error: StatusError) -> str:
    known = _GENERIC_MESSAGES.get(error.code)
    if known is not None:
        return known
    if error.code in _QUOTED_CODES:
        is_empty = error.code == NOT_ACCEPTABLE and error.text in ("", "unknown")
        return _NOT_ACCEPTABLE_MESSAGE if is_empty else error.text
    if error.code >= 500:
        text = go_quote(error.text)
        return f"an error on the server ({text}) has prevented the request from succeeding"
    return f"the server responded with the status code {error.code} but did not return more information"
