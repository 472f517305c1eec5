"""`meta/v1` Status: how Kubernetes says that a request failed, as a document and as an exception.

Codes and reasons are those of `k8s.io/apimachinery/pkg/api/errors` v0.36.3; the messages are Loadline's, and should
say what would have to change for the request to succeed.
"""

import msgspec

from wire.api import kube_json
from wire.api.meta import ListMeta, always

MESSAGE_LENGTH_MAX = 4_096
"""Of the message of another server, which may get into the status of an object and into events."""


class StatusCause(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One of several causes; `field` is the path of the field at fault."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the request was about. `kind` holds the resource (`pods`), as upstream fills it."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = []
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The body of an answer that is not an object: `status` is Success or Failure, `code` the HTTP status."""

    kind: str = always("Status")
    api_version: str = always("v1")
    metadata: ListMeta = always(ListMeta())
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


class StatusError(Exception):
    """The response to a request is a failure, as a client or as a server.

    `code` is the HTTP status, `reason` a CamelCase word for programs, the message a sentence for users.
    `generic` means that the response contained no Status (a proxy's page, a plain 404): the message is then
    client-go's, and `text` is the beginning of the response body.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str,
        details: StatusDetails | None = None,
        generic: bool = False,
        text: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.details = details
        self.generic = generic
        self.text = text
        self.in_full: StatusError | None = None
        """The same failure with what only those may read who may read the configuration of this server, such as a query."""

    def to_status(self) -> Status:
        """The document that is sent to the client."""
        return Status(
            status="Failure",
            message=self.message,
            reason=self.reason,
            details=self.details,
            code=self.code,
        )


class Unavailable(Exception):
    """The server could not be reached: no connection, no response in time, or no usable response."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_seconds = retry_after_seconds


class NotSent(Unavailable):
    """The server cannot have received the request, so nothing has changed there."""


# The reason of each HTTP status that Kubernetes gives one: apimachinery's NewGenericServerResponse.
REASONS: dict[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def failure(code: int, message: str, details: StatusDetails | None = None) -> StatusError:
    """An error of this HTTP status, with the reason Kubernetes gives to it."""
    unnamed = "InternalError" if code >= 500 else ""
    return StatusError(message, code=code, reason=REASONS.get(code, unnamed), details=details)


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood; the same request will fail again."""
    return failure(400, message)


def unauthorized(message: str = "Unauthorized") -> StatusError:
    """401: the user could not be authenticated."""
    return failure(401, message)


def forbidden(message: str, details: StatusDetails | None = None) -> StatusError:
    """403: the user is not authorized."""
    return failure(403, message, details)


def not_found(message: str, details: StatusDetails | None = None) -> StatusError:
    """404: the object or resource does not exist."""
    return failure(404, message, details)


def path_not_found() -> StatusError:
    """404: nothing is served at this path."""
    return not_found("the server could not find the requested resource", StatusDetails())


def method_not_allowed(message: str) -> StatusError:
    """405: the resource exists but does not support the verb."""
    return failure(405, message)


def conflict(message: str) -> StatusError:
    """409: the object has changed since it was read."""
    return failure(409, message)


def internal_error(cause: str) -> StatusError:
    """500: `Internal error occurred: <cause>`, with the cause in the details too, where clients read it."""
    details = StatusDetails(causes=[StatusCause(message=cause)])
    return failure(500, f"Internal error occurred: {cause}", details)


def service_unavailable(message: str, *, retry_after_seconds: int = 0) -> StatusError:
    """503: not now; the client may retry."""
    details = StatusDetails(retry_after_seconds=retry_after_seconds)
    return failure(503, message, details if retry_after_seconds else None)


def from_response(code: int, body: bytes, content_type: str = "") -> StatusError:
    """The error of a server's response: its Status document, or the best that can be said without one.

    A proxy responds with text of its own; the first 200 characters of it are in the message, and `text` has 2,048, unless
    `content_type` says that it is not a text (client-go's `newUnstructuredResponseError`).
    """
    try:
        status = kube_json.decode(body, Status)
    except msgspec.DecodeError:
        status = Status(kind="")
    if status.kind == "Status" and status.message:
        reason = status.reason or failure(code, "").reason
        return StatusError(
            status.message[:MESSAGE_LENGTH_MAX],
            code=status.code or code,
            reason=reason,
            details=status.details,
        )
    text = body[:2048].decode("utf-8", "replace").strip()
    message = f"the server responded with {code}: {text[:200] or 'no message'}"
    if content_type and not content_type.startswith("text/"):
        text = "unknown"
    return StatusError(message, code=code, reason=failure(code, "").reason, generic=True, text=text)
