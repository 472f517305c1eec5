"""The responses of Prometheus' HTTP API as typed values.

https://prometheus.io/docs/prometheus/latest/querying/api/ ; Thanos, Mimir and VictoriaMetrics use the same format and
add fields of their own, which are skipped.
"""

from typing import Any, TypeVar

import msgspec

from adapter.model import Series
from wire.api.readable_json import REPLACED_BYTES
from wire.prometheus.responses import Envelope

T = TypeVar("T")

Point = tuple[float, str]
"""Unix seconds and the value as text; Prometheus writes values as text so that NaN and Inf survive JSON."""


class Row(msgspec.Struct, gc=False):
    """One element of an instant vector. A native histogram has `histogram` in place of `value`."""

    metric: dict[str, str]
    value: Point | None = None
    histogram: tuple[float, msgspec.Raw] | None = None


class Vector(msgspec.Struct, tag_field="resultType", tag="vector"):
    """The instantaneous value of any number of series."""

    result: list[Row] | None
    stats: msgspec.Raw = msgspec.Raw()
    """Where it was requested; each backend has a form of its own."""


class Scalar(msgspec.Struct, tag_field="resultType", tag="scalar"):
    """One number."""

    result: Point


class Matrix(msgspec.Struct, tag_field="resultType", tag="matrix"):
    """A range of values per series: the result of a query that is a range selector."""

    result: list[Any] | None = None


class Text(msgspec.Struct, tag_field="resultType", tag="string"):
    """A string literal."""

    result: Point


Result = Vector | Scalar | Matrix | Text


class QueryAnswer(Envelope, rename="camel", kw_only=True):
    """The response of `/api/v1/query`."""

    data: Result | None = None
    infos: list[str] | None = None
    is_partial: bool = False  # VictoriaMetrics: some of its storage nodes did not answer


class SeriesAnswer(Envelope, rename="camel", kw_only=True):
    """The response of `/api/v1/series`."""

    data: list[dict[str, str]] | None = None
    is_partial: bool = False  # as of a query


class ReadSamples(msgspec.Struct, rename="camel"):
    """How many stored samples Prometheus has read."""

    total_queryable_samples: int


class Statistics(msgspec.Struct):
    """The statistics of a query, as Prometheus writes them."""

    samples: ReadSamples


_query_decoder = msgspec.json.Decoder(QueryAnswer)
_statistics_decoder = msgspec.json.Decoder(Statistics)
_series_decoder = msgspec.json.Decoder(SeriesAnswer)
_elements_decoder = msgspec.json.Decoder(list[dict[str, str]])
_rows_decoder = msgspec.json.Decoder(list[Row])

_RESULT_OPENS = b'"result":['
_IS_A_VECTOR = b'"resultType":"vector"'
_IS_A_MATRIX = b'"resultType":"matrix"'
# A quote inside a string is escaped, and after the end of a string comes no name: this can only be the start of a row.
_NEXT_ROW = b'},{"metric":{'
_HEAD_BYTES_MAX = 4 * 1024
ROWS_SLICE_BYTES = 128 * 1024
"""About 1,000 rows, and 3 ms."""
_UNDIVIDED_BYTES = 8 * ROWS_SLICE_BYTES

_DATA_OPENS = b'"data":['
# One element ends and the next one begins, unless the first quote is escaped, or opens a string that is just `},{`.
_BETWEEN_ELEMENTS = b'"},{"'
# After such a string. After a real boundary follows a label name, and a name that begins so only delays the split.
_BACKSLASH = ord("\\")
_AFTER_A_STRING = b',}: \t\r\n"'
SERIES_BYTES_MAX = 1024 * 1024
"""What has no boundary for so long is not a list of series."""


def _decoded(decoder: msgspec.json.Decoder[T], text: bytes | bytearray) -> T:
    """Bytes that are not UTF-8, which labels may contain, are replaced as by Go's encoding/json."""
    try:
        return decoder.decode(text)
    except UnicodeDecodeError:
        return decoder.decode(text.decode("utf-8", REPLACED_BYTES))


def samples_read(stats: msgspec.Raw) -> int | None:
    """The samples that were read, by the statistics of a query; None when they do not say."""
    try:
        return _statistics_decoder.decode(stats).samples.total_queryable_samples
    except (ValueError, RecursionError):
        return None


class QueryReader:
    """Reads a response of `/api/v1/query` piece by piece, and keeps no bytes of the rows that it has returned.

    A response of 40 MB decoded as a whole would block every other request, and take its bytes beside its rows. One that is not
    written as Prometheus writes it is decoded at its end.
    """

    def __init__(self) -> None:
        self._head = b""
        self._rest = bytearray()
        self._searched = 0

    @property
    def held_bytes(self) -> int:
        """What was read and not decoded yet."""
        return len(self._rest)

    @property
    def is_undivided(self) -> bool:
        """Whether much was read that can only be decoded at the end."""
        return len(self._rest) > _UNDIVIDED_BYTES

    def feed(self, piece: bytes) -> list[Row]:
        """Take the next bytes, and return rows that are complete; raises `ValueError` for something else than rows.

        The rows of a small response are returned by `finish`. Those of a matrix are skipped: only its type matters.
        """
        self._rest += piece
        if not self._head:
            self._begin_rows()
        if not self._head or len(self._rest) < ROWS_SLICE_BYTES:
            return []
        end = self._rest.rfind(_NEXT_ROW, max(0, self._searched - len(_NEXT_ROW)))
        self._searched = len(self._rest) if end < 0 else 0
        if end < 0:
            return []
        rows = self._rest[: end + 1]
        del self._rest[: end + 2]
        return [] if _IS_A_MATRIX in self._head else _decoded(_rows_decoder, b"[" + rows + b"]")

    def finish(self) -> QueryAnswer:
        """The response with its last rows; raises `ValueError` when it is not one, or was cut off."""
        return _decoded(_query_decoder, self._head + self._rest)

    def _begin_rows(self) -> None:
        opens = self._rest.find(_RESULT_OPENS, 0, _HEAD_BYTES_MAX)
        head = self._rest[: opens + len(_RESULT_OPENS)]
        if opens >= 0 and (_IS_A_VECTOR in head or _IS_A_MATRIX in head):
            self._head = bytes(head)
            del self._rest[: len(head)]


def decode_series(body: bytes) -> SeriesAnswer:
    """Decode a whole response of `/api/v1/series`; raises `ValueError` when it is not one."""
    return _decoded(_series_decoder, body)


def _last_boundary(text: bytearray, start: int) -> int:
    """Where the last complete element of a list ends (its last quote), at `start` or later; -1 when none does."""
    # The byte after the boundary is needed to tell it from a string.
    end = len(text) - 1
    while (at := text.rfind(_BETWEEN_ELEMENTS, start, end)) >= 0:
        escapes = 0
        while at > escapes and text[at - escapes - 1] == _BACKSLASH:
            escapes += 1
        if not escapes % 2 and text[at + len(_BETWEEN_ELEMENTS)] not in _AFTER_A_STRING:
            return at
        end = at + len(_BETWEEN_ELEMENTS) - 1
    return -1


class SeriesReader:
    """Reads `/api/v1/series` piece by piece and keeps only the distinct shapes.

    The response of a cluster has hundreds of megabytes and a few thousand shapes; prometheus-adapter, which holds all of
    it, needs half a gigabyte. The order is that of a shape's last occurrence: of two series names with one metric name
    the later one wins, as in prometheus-adapter.
    """

    def __init__(self, *, held_bytes_max: int = 64 * 1024 * 1024) -> None:
        """`held_bytes_max`: of a response that is not written as Prometheus writes it, and can only be decoded at its end."""
        self._held_bytes_max = held_bytes_max
        self._shapes: dict[tuple[str, int], Series] = {}
        self._label_names: dict[frozenset[str], frozenset[str]] = {}
        self._head = b""
        self._rest = bytearray()
        self._searched = 0
        """No boundary begins before this in what is held."""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes; raises `ValueError` when they are not JSON, or a series does not end within `SERIES_BYTES_MAX`."""
        self._rest += piece
        if not self._head:
            self._begin_elements()
        if self._head:
            self._take_elements()
        held_bytes_max = self._held_bytes_max
        if self._head:
            held_bytes_max = min(held_bytes_max, SERIES_BYTES_MAX)
        if len(self._rest) > held_bytes_max:
            raise ValueError(f"{held_bytes_max} bytes without the end of a series")

    def finish(self) -> SeriesAnswer:
        """Check the whole and decode what is left; raises `ValueError` when the response was cut off."""
        answer = _decoded(_series_decoder, self._head + self._rest)
        self._keep(answer.data or [])
        return answer

    @property
    def shapes(self) -> list[Series]:
        """The distinct shapes so far."""
        return list(self._shapes.values())

    def _begin_elements(self) -> None:
        start = self._rest.find(_DATA_OPENS, 0, _HEAD_BYTES_MAX)
        if start >= 0:
            self._head = bytes(self._rest[: start + len(_DATA_OPENS)])
            del self._rest[: len(self._head)]

    def _take_elements(self) -> None:
        end = _last_boundary(self._rest, self._searched)
        if end >= 0:
            self._keep(_decoded(_elements_decoder, b"[" + self._rest[: end + 2] + b"]"))
            del self._rest[: end + 3]
        # Of what is left, only a boundary whose last byte, or the one after it, has not arrived yet is unknown.
        self._searched = max(0, len(self._rest) - len(_BETWEEN_ELEMENTS))

    def _keep(self, elements: list[dict[str, str]]) -> None:
        for labels in elements:
            name = labels.pop("__name__", "")
            label_names = frozenset(labels)
            # Few distinct sets, each kept once: their identity stands for them.
            label_names = self._label_names.setdefault(label_names, label_names)
            shape = (name, id(label_names))
            known = self._shapes.pop(shape, None)
            self._shapes[shape] = Series(name, label_names) if known is None else known
