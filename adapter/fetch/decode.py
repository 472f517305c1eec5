"""The responses of Prometheus' HTTP API as typed values.

https://prometheus.io/docs/prometheus/latest/querying/api/ ; Thanos, Mimir and VictoriaMetrics use the same format and
add fields of their own, which are skipped. What is null or missing is read as by Go's encoding/json, with which prometheus-adapter reads it.
"""

import re
from typing import Annotated, Final, TypeVar

import msgspec

from adapter.fetch.json_tokens import Tokens, cut
from adapter.model import Series
from wire.api.readable_json import with_whole_characters
from wire.prometheus.responses import Envelope

T = TypeVar("T")
A = TypeVar("A", bound=Envelope)

Seconds = Annotated[float, msgspec.Meta(ge=-62_135_596_800, le=253_402_300_799)]
"""Unix seconds of the years 1 to 9999, which a response can have; prometheus-adapter rejects times that do not fit in an int64."""

Point = tuple[Seconds, str]
"""The time and the value as text; Prometheus writes values as text so that NaN and Inf survive JSON."""


class Row(msgspec.Struct, gc=False):
    """One element of an instant vector. A native histogram has `histogram` in place of `value`."""

    metric: dict[str, str] | None = None
    value: Point | None = None
    histogram: tuple[Seconds, msgspec.Raw] | None = None


class Vector(msgspec.Struct, tag_field="resultType", tag="vector"):
    """The instantaneous value of any number of series."""

    result: list[Row] | None
    stats: msgspec.Raw = msgspec.Raw()
    """Where it was requested; each backend has a form of its own."""


class Scalar(msgspec.Struct, tag_field="resultType", tag="scalar"):
    """One number."""

    result: Point


class Matrix(msgspec.Struct, tag_field="resultType", tag="matrix"):
    """A range of values per series: the result of a query that is a range selector. Only its type matters."""

    result: msgspec.Raw = msgspec.Raw()


class Text(msgspec.Struct, tag_field="resultType", tag="string"):
    """A string literal."""

    result: Point


Result = Vector | Scalar | Matrix | Text


class QueryAnswer(Envelope, rename="camel", kw_only=True):
    """The response of `/api/v1/query`."""

    data: Result | None = None
    infos: list[str] | None = None
    is_partial: bool | None = None  # VictoriaMetrics: some of its storage nodes did not answer


class SeriesAnswer(Envelope, rename="camel", kw_only=True):
    """The response of `/api/v1/series`."""

    data: list[dict[str, str]] | msgspec.UnsetType | None = msgspec.UNSET
    is_partial: bool | None = None  # as of a query

    @property
    def has_data(self) -> bool:
        """Whether it is a list of series: null is an empty one, and nothing is none."""
        return self.status != "error" and self.data is not msgspec.UNSET


class ReadSamples(msgspec.Struct, rename="camel"):
    """How many stored samples Prometheus has read."""

    total_queryable_samples: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Statistics(msgspec.Struct):
    """The statistics of a query, as Prometheus writes them."""

    samples: ReadSamples


_envelope_decoder = msgspec.json.Decoder(Envelope)
_query_decoder = msgspec.json.Decoder(QueryAnswer)
_statistics_decoder = msgspec.json.Decoder(Statistics)
_series_decoder = msgspec.json.Decoder(SeriesAnswer)
_elements_decoder = msgspec.json.Decoder(list[dict[str, str]])
_rows_decoder = msgspec.json.Decoder(list[Row])

_BEHIND_THE_DOCUMENT: Final = re.compile(r"trailing characters \(byte ([0-9]+)\)")
_HEAD_BYTES_MAX: Final = 4 * 1024
ROWS_SLICE_BYTES: Final = 128 * 1024
"""About 1,000 rows, and 3 ms."""
UNDIVIDED_BYTES_MAX: Final = 2 * ROWS_SLICE_BYTES
"""What has no boundary for so long is not a list of series, and not written as a list of rows."""
_SHAPE_BYTES: Final = 250
_LABEL_SET_BYTES: Final = 350
_LABEL_BYTES: Final = 100
"""What a shape takes beside its name, a set of label names, and each of them beside its text, roughly."""
_RESULT_OPENS = Tokens(b'"result"', b":", b"[")
_IS_A_VECTOR = Tokens(b'"resultType"', b":", b'"vector"')
_IS_A_MATRIX = Tokens(b'"resultType"', b":", b'"matrix"')
# A quote inside a string is escaped, and after the end of a string comes no name: this can only be the start of a row.
_NEXT_ROW = Tokens(b"}", b",", b"{", b'"metric"', b":", b"{")
_DATA_OPENS = Tokens(b'"data"', b":", b"[")
# One element ends and the next one begins, unless the first quote is escaped, or opens a string that is just `},{`.
_BETWEEN_ELEMENTS = Tokens(b'"', b"}", b",", b"{", b'"')
# After such a string. After a real boundary follows a label name, and a name that begins so only delays the split.
_BACKSLASH = ord("\\")
_AFTER_A_STRING = b',}]: \t\r\n"'


def _decoded(decoder: msgspec.json.Decoder[T], text: bytes | bytearray) -> T:
    """As encoding/json reads it: bytes and escapes of labels that are not Unicode characters are replaced, and a label that is null is empty."""
    try:
        return decoder.decode(text)
    except (UnicodeDecodeError, msgspec.DecodeError):
        return _with_empty_labels(decoder, with_whole_characters(bytes(text)))


def _with_empty_labels(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        document = msgspec.json.decode(text)
        _empty_null_labels(document)
        return decoder.decode(msgspec.json.encode(document))


def _empty_null_labels(document: object) -> None:
    """Put an empty text in place of each null in an object that has only texts beside it, as labels are."""
    if isinstance(document, list):
        for each in document:
            _empty_null_labels(each)
    elif isinstance(document, dict):
        are_labels = all(isinstance(each, str | None) for each in document.values())
        for name, each in document.items():
            if are_labels and each is None:
                document[name] = ""
            else:
                _empty_null_labels(each)


def _document(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    """The first value of a whole response, as json.Decoder reads it: some proxies write text behind what they pass on."""
    try:
        return _decoded(decoder, text)
    except msgspec.DecodeError as error:
        behind = _BEHIND_THE_DOCUMENT.search(str(error))
        if behind is None:
            raise
        # The position is one in what was read last.
        return _decoded(decoder, with_whole_characters(text)[: int(behind[1]) - 1])


def _answer(decoder: msgspec.json.Decoder[A], kind: type[A], text: bytes) -> A:
    """A whole response. That of an error may have any `data`, which prometheus-adapter does not read then."""
    try:
        return _document(decoder, text)
    except msgspec.ValidationError:
        envelope = _document(_envelope_decoder, text)
        if envelope.status != "error":
            raise
        return kind(**msgspec.structs.asdict(envelope))


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
        self._is_matrix = False
        self._rest = bytearray()
        self._searched = 0

    @property
    def held_bytes(self) -> int:
        """What was read and not decoded yet."""
        return len(self._rest)

    @property
    def undivided_bytes(self) -> int:
        """What was read and can only be decoded at the end, as far as is known."""
        is_divided = self._head and self.held_bytes <= UNDIVIDED_BYTES_MAX
        return 0 if is_divided else self.held_bytes

    def feed(self, piece: bytes) -> list[Row]:
        """Take the next bytes, and return rows that are complete; raises `ValueError` for something else than rows.

        The rows of a small response are returned by `finish`. Those of a matrix are skipped: only its type matters.
        """
        self._rest += piece
        if not self._head:
            self._begin_rows()
        if not self._head or len(self._rest) < ROWS_SLICE_BYTES:
            return []
        start = max(0, self._searched - _NEXT_ROW.bytes_max)
        begin, _ = next(_NEXT_ROW.spans(self._rest, start, len(self._rest)), (-1, -1))
        self._searched = len(self._rest) if begin < 0 else 0
        if begin < 0:
            return []
        rows = cut(self._rest, begin)
        return [] if self._is_matrix else _decoded(_rows_decoder, rows)

    def finish(self) -> QueryAnswer:
        """The response with its last rows; raises `ValueError` when it is not one, or was cut off."""
        return _answer(_query_decoder, QueryAnswer, self._head + self._rest)

    def _begin_rows(self) -> None:
        opens = _RESULT_OPENS.end(self._rest, _HEAD_BYTES_MAX)
        if opens < 0:
            return
        is_vector = _IS_A_VECTOR.end(self._rest, opens) >= 0
        self._is_matrix = not is_vector and _IS_A_MATRIX.end(self._rest, opens) >= 0
        if is_vector or self._is_matrix:
            self._head = bytes(self._rest[:opens])
            del self._rest[:opens]


def decode_series(body: bytes) -> SeriesAnswer:
    """Decode a whole response of `/api/v1/series`; raises `ValueError` when it is not one."""
    return _answer(_series_decoder, SeriesAnswer, body)


def _last_boundary(text: bytearray, start: int) -> int:
    """Where the last complete element of a list ends (its last quote), at `start` or later; -1 when none does."""
    # The byte after the boundary is needed to tell it from a string.
    for begin, end in _BETWEEN_ELEMENTS.spans(text, start, len(text) - 1):
        escapes = 0
        while begin > escapes and text[begin - escapes - 1] == _BACKSLASH:
            escapes += 1
        if not escapes % 2 and text[end] not in _AFTER_A_STRING:
            return begin
    return -1


class SeriesReader:
    """Reads `/api/v1/series` piece by piece and keeps only the distinct shapes.

    The response of a cluster has hundreds of megabytes and a few thousand shapes; prometheus-adapter, which holds all of
    it, needs half a gigabyte. The order is that of a shape's last occurrence: of two series names with one metric name
    the later one wins, as in prometheus-adapter.
    """

    def __init__(self, *, held_bytes_max: int = UNDIVIDED_BYTES_MAX) -> None:
        """`held_bytes_max`: of a series, and of a response that is not a list of series and can only be decoded at its end."""
        self._held_bytes_max = held_bytes_max
        self._shapes: dict[tuple[str, int], Series] = {}
        self._label_names: dict[frozenset[str], frozenset[str]] = {}
        self._head = b""
        self._rest = bytearray()
        self._searched = 0
        """No boundary begins before this in what is held."""
        self.size_bytes = 0
        """What the distinct shapes take in memory, roughly."""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes; raises `ValueError` when they are not JSON, or a series does not end within `held_bytes_max`."""
        self._rest += piece
        if not self._head:
            self._begin_elements()
        if self._head:
            self._take_elements()
        if len(self._rest) > self._held_bytes_max:
            raise ValueError(f"{self._held_bytes_max} bytes without the end of a series")

    def finish(self) -> SeriesAnswer:
        """Check the whole and decode what is left; raises `ValueError` when the response was cut off."""
        answer = _answer(_series_decoder, SeriesAnswer, self._head + self._rest)
        self._keep(answer.data or [])
        return answer

    @property
    def shapes(self) -> list[Series]:
        """The distinct shapes so far."""
        return list(self._shapes.values())

    def _begin_elements(self) -> None:
        opens = _DATA_OPENS.end(self._rest, _HEAD_BYTES_MAX)
        if opens >= 0:
            self._head = bytes(self._rest[:opens])
            del self._rest[:opens]

    def _take_elements(self) -> None:
        end = _last_boundary(self._rest, self._searched)
        if end >= 0:
            self._keep(_decoded(_elements_decoder, cut(self._rest, end)))
        # Of what is left, only a boundary whose last byte, or the one after it, has not arrived yet is unknown.
        self._searched = max(0, len(self._rest) - _BETWEEN_ELEMENTS.bytes_max)

    def _keep(self, elements: list[dict[str, str]]) -> None:
        for labels in elements:
            name = labels.pop("__name__", "")
            names = frozenset(labels)
            # Few distinct sets, each kept once: their identity stands for them.
            label_names = self._label_names.get(names)
            if label_names is None:
                label_names = self._label_names[names] = names
                self.size_bytes += _LABEL_SET_BYTES + sum(
                    _LABEL_BYTES + len(each) for each in names
                )
            shape = (name, id(label_names))
            known = self._shapes.pop(shape, None)
            if known is None:
                known = Series(name, label_names)
                self.size_bytes += _SHAPE_BYTES + len(name)
            self._shapes[shape] = known
