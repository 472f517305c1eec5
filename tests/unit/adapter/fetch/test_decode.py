"""The responses of Prometheus, read as a whole or in pieces."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.fetch import decode
from adapter.fetch.json_tokens import WHITE_SPACE_MAX
from adapter.model import Series
from wire.prometheus.responses import decode_refusal


def series_body(elements: list[dict[str, str]]) -> bytes:
    """As Prometheus writes it: compact, in this order of fields."""
    return json.dumps({"status": "success", "data": elements}, separators=(",", ":")).encode()


def read_in_pieces(body: bytes, size_bytes: int) -> decode.SeriesReader:
    reader = decode.SeriesReader()
    for start in range(0, len(body), size_bytes):
        reader.feed(body[start : start + size_bytes])
    reader.finish()
    return reader


names = st.sampled_from(["up", "a_total", "b"])
# Label values are any text: also text that looks like the end of an element.
values = st.text(max_size=8) | st.sampled_from(['"},{"', "},{", '\\"},{\\"', '"data":['])
# Prometheus sorts labels, and some sort before `__name__`; names may be any text since UTF-8 names exist.
label_names = st.sampled_from(["pod", "namespace", "Zone", "A", "},{", ",", "}", "0", "a.b", '"'])
elements = st.dictionaries(label_names, values).flatmap(
    lambda labels: names.map(lambda name: dict(sorted({"__name__": name, **labels}.items())))
)


@given(st.lists(elements, max_size=12), st.integers(1, 80), st.sampled_from([None, 0, 9]))
def test_series_are_the_same_however_the_answer_is_cut_and_written(series, size_bytes, indent):
    body = series_body(series)
    if indent is not None:
        body = json.dumps(json.loads(body), indent=indent).encode()
    reader = read_in_pieces(body, size_bytes)
    wanted = {Series(s["__name__"], frozenset(set(s) - {"__name__"})) for s in series}
    assert set(reader.shapes) == wanted


def test_a_shape_is_at_the_position_of_its_last_occurrence():
    body = series_body([{"__name__": "a"}, {"__name__": "b"}, {"__name__": "a"}])
    assert [each.name for each in read_in_pieces(body, 10).shapes] == ["b", "a"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>", id="a proxy's page"),
        pytest.param(series_body([{"__name__": "a"}])[:-3], id="cut off"),
        pytest.param(b'{"status":"success","data":[{"__name__":1}]}', id="not labels"),
    ],
)
def test_truncated_series_are_refused(body):
    with pytest.raises(ValueError, match=r".+"):
        read_in_pieces(body, 7)


@pytest.mark.parametrize("begins", [b"", b'{"status":"success","data":['], ids=["a page", "a list"])
def test_an_endless_response_is_aborted_before_it_fills_the_memory(begins):
    reader = decode.SeriesReader(held_bytes_max=1_000)
    reader.feed(begins)
    for _ in range(9):
        reader.feed(b"x" * 100)
    with pytest.raises(ValueError, match="1000 bytes without the end of a series"):
        reader.feed(b"x" * 200)


@pytest.mark.parametrize(
    ("begins", "filler"),
    [
        pytest.param('{"status":"success","data":[{"a":"', "x", id="a label"),
        pytest.param('{"status": "success", "data": [', "{},", id="series without labels"),
        pytest.param('{"status":"success","results":[', "{},", id="a list of something else"),
    ],
)
def test_what_cannot_be_divided_is_given_up_after_little_of_it(begins, filler):
    """A megabyte of series without labels would take 25 in memory."""
    reader = decode.SeriesReader()
    reader.feed(begins.encode() + (filler * decode.UNDIVIDED_BYTES_MAX)[: 250 * 1024].encode())
    with pytest.raises(ValueError, match="262144 bytes without the end of a series"):
        reader.feed(filler.encode() * 10_000)


FORMATS = [
    pytest.param({"separators": (",", ":")}, id="as Prometheus"),
    pytest.param({}, id="with spaces"),
    pytest.param({"indent": 4}, id="indented"),
    pytest.param({"indent": "\t", "separators": (" ,", " : ")}, id="with tabs"),
]


@pytest.mark.parametrize("written", FORMATS)
def test_of_a_long_list_of_series_little_more_than_a_series_is_held(written):
    series = [{"__name__": "a", "pod": "x" * 1000}, {"__name__": "b", "job": '"},{"'}] * 1000
    body = json.dumps({"status": "success", "data": series}, **written).encode()
    assert len(body) > 4 * decode.UNDIVIDED_BYTES_MAX
    reader, held = decode.SeriesReader(), 0
    for start in range(0, len(body), 10_000):
        reader.feed(body[start : start + 10_000])
        held = max(held, len(reader._rest))
    reader.finish()
    assert reader.shapes == [Series("a", frozenset({"pod"})), Series("b", frozenset({"job"}))]
    assert held < 12_000


BOUNDARY = b'"},{"'


class CountedBytes(bytearray):
    """Counts the bytes that are searched backwards."""

    searched_bytes = 0

    def rfind(self, text: bytes, start: int, end: int) -> int:
        found = super().rfind(text, start, end)
        self.searched_bytes += max(0, end - max(start, found))
        return found


@pytest.mark.parametrize(
    "filler", [b'},{","b":"', b'\\"},{\\"', b"x"], ids=["a string", "escaped", "none"]
)
def test_text_that_looks_like_the_end_of_a_series_is_searched_once(filler):
    reader = decode.SeriesReader()
    held = reader._rest = CountedBytes()
    copies = 50_000 // len(filler)
    body = b'{"status":"success","data":[{"__name__":"a","b":"' + filler * copies + b'"}]}'
    pieces = range(0, len(body), 100)
    for start in pieces:
        reader.feed(body[start : start + 100])
    reader.finish()
    assert reader.shapes == [Series("a", frozenset({"b"}))]
    of_each_bytes = 2 * len(BOUNDARY) + 4 * WHITE_SPACE_MAX
    assert 0 < held.searched_bytes <= len(body) + of_each_bytes * (copies + len(pieces))


def test_a_long_list_of_series_is_not_an_endless_response():
    reader = decode.SeriesReader(held_bytes_max=1_000)
    reader.feed(b'{"status":"success","data":[')
    for _ in range(1_000):
        reader.feed(b'{"__name__":"a"},')
    reader.feed(b'{"__name__":"b"}]}')
    reader.finish()
    assert [each.name for each in reader.shapes] == ["a", "b"]


def test_labels_that_sort_before_the_name_do_not_make_the_reader_hold_everything():
    reader = decode.SeriesReader(held_bytes_max=1_000)
    reader.feed(b'{"status":"success","data":[')
    for number in range(1_000):
        reader.feed(b'{"Zone":"%d","__name__":"a"},' % number)
    reader.feed(b'{"__name__":"b"}]}')
    reader.finish()
    assert reader.shapes == [Series("a", frozenset({"Zone"})), Series("b")]


def test_unknown_fields_and_spaces_do_not_disturb():
    body = json.dumps(
        {"isPartial": False, "status": "success", "data": [{"__name__": "a"}]}, indent=1
    )
    assert read_in_pieces(body.encode(), 5).shapes == [Series("a")]


@pytest.mark.parametrize("text", ['"},{"', '"a","},{"', '"},{" '])
def test_a_text_that_looks_like_the_end_of_a_series_may_be_the_last_one_of_a_list(text):
    body = f'{{"data":[],"status":"success","infos":[{text}]}}'
    assert read_in_pieces(body.encode(), 5).shapes == []


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        pytest.param(
            b'{"status":"error","errorType":"bad_data","error":"no"}', "no", id="Prometheus"
        ),
        pytest.param(b"upstream connect error", None, id="a proxy"),
        pytest.param(b"\xff\xfe", None, id="no text"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_only_prometheus_own_refusals_are_read(body, refusal):
    found = decode_refusal(body)
    assert (found.error if found else None) == refusal


rows = st.lists(
    st.dictionaries(
        label_names | st.just("metric"), values | st.sampled_from(['},{"metric":{', '"result":['])
    ),
    max_size=9,
)


def read_result(body: bytes, size_bytes: int) -> tuple[decode.QueryAnswer, list[decode.Row], int]:
    """The response, all its rows, and the most bytes that were held undecoded."""
    reader, found, held = decode.QueryReader(), [], 0
    for begin in range(0, len(body), size_bytes):
        found += reader.feed(body[begin : begin + size_bytes])
        held = max(held, reader.held_bytes)
    answer = reader.finish()
    last = answer.data.result if isinstance(answer.data, decode.Vector) else []
    return answer, found + last, held


@given(
    rows,
    st.integers(1, 3),
    st.sampled_from([9_999, decode.ROWS_SLICE_BYTES]),
    st.sampled_from([{"separators": (",", ":")}, {}, {"indent": 1}]),
)
def test_a_result_in_pieces_has_the_rows_of_the_whole_in_order(labels, copies, size, written):
    """Long enough to be divided, by a label that fills half a slice; also if it is not written as Prometheus writes it."""
    filler = {"filler": "x" * (decode.ROWS_SLICE_BYTES // 2)}
    result = [
        {"metric": {**each, **filler}, "value": [number, str(number)]}
        for number, each in enumerate(labels * copies)
    ]
    document = {
        "status": "success",
        "data": {"resultType": "vector", "result": result},
        "warnings": ['a },{"metric":{ in a warning'],
    }
    body = json.dumps(document, **written).encode()
    answer, found, held = read_result(body, size)
    assert [(row.metric, list(row.value)) for row in found] == [
        (row["metric"], row["value"]) for row in result
    ]
    assert answer.warnings == document["warnings"]
    assert held < 3 * decode.ROWS_SLICE_BYTES


@pytest.mark.deviation("large-results")
@pytest.mark.parametrize("kind", ["vector", "matrix"])
def test_of_a_large_result_little_more_than_a_slice_is_held(kind):
    row = '{"metric":{"pod":"a"},"values":[[1,"2"]],"value":[1,"2"]}'
    body = f'{{"status":"success","data":{{"resultType":"{kind}","result":[{",".join([row] * 20_000)}]}}}}'
    answer, found, held = read_result(body.encode(), 10_000)
    assert held <= decode.ROWS_SLICE_BYTES + 10_000 < len(body) // 4
    assert type(answer.data) is (decode.Vector if kind == "vector" else decode.Matrix)
    if kind == "vector":
        assert len(found) == 20_000


@pytest.mark.parametrize("cut", [1, 2, 40, 70_000])
def test_a_result_that_was_cut_off_is_refused(cut):
    row = '{"metric":{"pod":"a"},"value":[1,"2"]}'
    body = f'{{"status":"success","data":{{"resultType":"vector","result":[{",".join([row] * 9_000)}]}}}}'
    with pytest.raises(msgspec.DecodeError):
        read_result(body.encode()[:-cut], 10_000)


BROKEN = b"a\xff\xe2\x82b\\ud800"
REPLACED = "a\ufffd\ufffd\ufffdb\ufffd"


def test_bytes_and_escapes_of_labels_that_are_not_characters_are_replaced_one_by_one_as_by_go():
    series = series_body([{"__name__": "up", "path": "PATH"}]).replace(b"PATH", BROKEN)
    answer = decode.decode_series(series)
    assert answer.data == [{"__name__": "up", "path": REPLACED}]
    assert read_in_pieces(series, 7).shapes == [Series("up", frozenset({"path"}))]


@pytest.mark.parametrize("rows", [1, 5_000], ids=["at the end", "in slices"])
@pytest.mark.parametrize("behind", [b"", b" from a proxy", b"\xff"])
@pytest.mark.parametrize(
    ("text", "means"),
    [
        (BROKEN, REPLACED),
        (rb"\ud800", "\ufffd"),
        (rb"\udc00\ud83d\ude00", "\ufffd\U0001f600"),
    ],
)
def test_what_go_replaces_in_labels_is_replaced_also_before_a_text_behind_the_document(
    rows, behind, text, means
):
    row = b'{"metric":{"path":"' + text + b'"},"value":[1,"2"]}'
    head = (
        b'{"warnings":["' + text + b'"],"status":"success","data":{"resultType":"vector","result":['
    )
    reader = decode.QueryReader()
    found = reader.feed(head + b",".join([row] * rows))
    found += reader.feed(b"]}}" + behind)
    answer = reader.finish()
    found += answer.data.result
    assert answer.warnings == [means]
    assert [each.metric for each in found] == [{"path": means}] * rows
