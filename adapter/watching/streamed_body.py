"""What is kept and sent of a response: all of it, unless it is so large that a GET has to return it."""

from typing import Final

from adapter.answer.answering import AnswerDocument
from adapter.documents.encoding import encoded
from wire.api.status import failure

BODY_BYTES_MAX: Final = 8 << 20
"""A response is in memory several times while it is compared and sent to each stream."""


def streamed_body(document: AnswerDocument) -> bytes:
    """As JSON. Raises `StatusError` 429 if it is too large."""
    found = encoded(document)
    if found.size_bytes > BODY_BYTES_MAX:
        limit_mib = BODY_BYTES_MAX >> 20
        raise failure(429, f"the response has more than {limit_mib} MiB: send a GET")
    return b"".join(found.pieces)
