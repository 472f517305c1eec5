"""Documents as JSON in pieces, so that what all items of a list repeat is in memory once, and no document becomes too large."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from wire.api.status import StatusError, failure

DOCUMENT_BYTES_MAX: Final = 64 << 20
"""The lists of 110,000 pods, which the result of a query may have. The scaler reads no larger response either."""
ITEMS_AT_ONCE: Final = 100
PIECE_BYTES: Final = 64
"""What a piece takes beside its text."""

_encode = msgspec.json.Encoder().encode


class JSONPieces(NamedTuple):
    """JSON; the pieces make up the document in their order. The same object may occur many times."""

    pieces: list[bytes]
    size_bytes: int
    """Of the document."""
    own_bytes: int
    """What it takes in memory, beside a text that it was made from."""


def in_pieces(
    document: Any,
    *,
    placeholder: bytes = b"",
    repeated: bytes = b"",
    bytes_max: int = DOCUMENT_BYTES_MAX,
) -> JSONPieces:
    """A Struct, or another document that msgspec encodes, or JSON. Where `placeholder` would be written, `repeated` is.

    Raises `StatusError` 413 for a document that is too large; JSON, which is taken to be shared by all requests, may have any size.
    """
    if isinstance(document, bytes):
        return JSONPieces([document], len(document), 0)
    pieces: list[bytes] = []
    size_bytes, own_bytes = 0, len(repeated)
    for part in _parts(document):
        texts = part.split(placeholder) if placeholder else [part]
        for number, text in enumerate(texts):
            pieces += (repeated, text) if number else (text,)
        of_texts = sum(map(len, texts))
        size_bytes += of_texts + (len(texts) - 1) * len(repeated)
        own_bytes += of_texts + PIECE_BYTES * len(texts)
        if size_bytes > bytes_max:
            raise too_large(bytes_max)
    return JSONPieces(pieces, size_bytes, own_bytes)


def too_large(bytes_max: int) -> StatusError:
    """413 for a document that has more bytes."""
    return failure(
        413,
        f"the response has more than {bytes_max >> 20} MiB: request fewer objects, with a namespace or a "
        "label selector, or a metric with fewer series, or a shorter selector of the metric, which each item repeats",
    )


def _parts(document: Any) -> Iterator[bytes]:
    items = (
        document.items
        if isinstance(document, msgspec.Struct) and hasattr(document, "items")
        else []
    )
    if len(items) <= ITEMS_AT_ONCE:
        yield _encode(document)
        return
    before, _, after = _encode(msgspec.structs.replace(document, items=[])).rpartition(b"[]")
    yield before + b"["
    for start in range(0, len(items), ITEMS_AT_ONCE):
        encoded = _encode(items[start : start + ITEMS_AT_ONCE])
        yield (b"," if start else b"") + encoded[1:-1]
    yield b"]" + after
