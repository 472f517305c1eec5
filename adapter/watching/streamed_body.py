"""What is kept and sent of a response: all of it, unless it is so large that a GET has to return it."""

from typing import Final

from adapter.answer.answering import AnswerDocument
from adapter.documents.encoding import encoded
from adapter.watching.sources import NotEvaluated
from wire.api.status import StatusError

BODY_BYTES_MAX: Final = 8 << 20
"""A response is in memory several times while it is compared and sent to each stream."""


def streamed_body(document: AnswerDocument) -> bytes:
    """As JSON. Raises `NotEvaluated` if it is too large: to find that out in each round would take too long."""
    try:
        found = encoded(document, bytes_max=BODY_BYTES_MAX)
    except StatusError as error:
        why = f"the response has more than {BODY_BYTES_MAX >> 20} MiB"
        raise NotEvaluated.for_long(why) from error
    return b"".join(found.pieces)
