"""What is null or missing in a response is the zero value, as Go's encoding/json reads it for prometheus-adapter.

prometheus-adapter v0.12.0 pkg/client/api.go and interfaces.go, with github.com/prometheus/common v0.46.0 model.Sample.
"""

import pytest

from adapter.fetch import decode
from adapter.model import Plan, Series
from adapter.ports import QueryFailed, SeriesIncomplete
from tests.unit.adapter.fetch.canned import raw

PLAN = Plan("up")
ROW = '{"metric":{"pod":"a"},"value":[1000,"3"]}'
DATA = '{"resultType":"vector","result":[%s]}'


def response(data: str, fields: str = '"status":"success",') -> str:
    return f'{{{fields}"data":{data}}}'


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        pytest.param(response(DATA % ROW, '"status":"success","error":null,"errorType":null,'), {"pod": "a"}, id="no error"),
        pytest.param(response(DATA % ROW, '"status":"success","isPartial":null,"warnings":null,'), {"pod": "a"}, id="not partial"),
        pytest.param(response(DATA % ROW, ""), {"pod": "a"}, id="without a status"),
        pytest.param(response(DATA % ROW, '"status":null,'), {"pod": "a"}, id="a status that is null"),
        pytest.param(response(DATA % ROW, '"status":"partial",'), {"pod": "a"}, id="a status that is not an error"),
        pytest.param(response(DATA % '{"metric":null,"value":[1000,"3"]}'), {}, id="labels that are null"),
        pytest.param(response(DATA % '{"value":[1000,"3"]}'), {}, id="without labels"),
        pytest.param(response(DATA % '{"metric":{"pod":null,"a":"b"},"value":[1000,"3"]}'), {"pod": "", "a": "b"}, id="a label that is null"),
        pytest.param(response(DATA % ROW) + "\n<!-- from a proxy -->", {"pod": "a"}, id="text behind the document"),
        pytest.param(response(DATA % '{"metric":{"pod":null},"value":[1000,"3"]}') + "{}", {"pod": ""}, id="both"),
    ],
)  # fmt: skip
async def test_a_value_is_read_from_a_response_with_zero_values(server, connect, body, labels):
    server.says = raw(body.encode())
    evaluation = await connect().evaluate(PLAN)
    assert not evaluation.partial
    assert [(each.labels, each.value) for each in evaluation.samples] == [(labels, 3.0)]


@pytest.mark.deviation("null-results")
async def test_a_vector_that_is_null_is_empty(server, connect):
    server.says = raw(b'{"status":"success","data":{"resultType":"vector","result":null}}')
    assert not (await connect().evaluate(PLAN)).samples


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        pytest.param('{"pod":"web-%d"}', {"pod": "web-7"}, id="none"),
        pytest.param('{"pod":"web-%d","a":null}', {"pod": "web-7", "a": ""}, id="a label"),
    ],
)
async def test_rows_in_slices_have_zero_values_too(server, connect, metric, labels):
    rows = [f'{{"metric":{metric % number},"value":[1000,"3"]}}' for number in range(10_000)]
    server.says = raw(response(DATA % ",".join(rows)).encode())
    evaluation = await connect().evaluate(PLAN)
    assert len(evaluation.samples) == 10_000
    assert evaluation.samples[7].labels == labels


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(response(DATA % ROW)[:-1], id="cut off"),
        pytest.param(response(DATA % ROW)[:-1] + "\n<!-- cut off -->", id="cut off before a text"),
        pytest.param(response("null"), id="no data"),
        pytest.param('{"status":"success"}', id="without data"),
        pytest.param(response(DATA % '{"metric":{}}'), id="no value, which would be 0"),
        pytest.param(response(DATA % '{"metric":{},"value":null}'), id="a value that is null"),
        pytest.param(response(DATA % '{"metric":{"pod":5},"value":[1000,"3"]}'), id="a number as a label"),
        pytest.param(response(DATA % ROW, '"status":"error",'), id="an error with data"),
        pytest.param(response(DATA % ROW, '"status":5,'), id="a status that is a number"),
    ],
)  # fmt: skip
async def test_no_value_is_read_from_a_response_without_one(server, connect, body):
    server.says = raw(body.encode())
    with pytest.raises(QueryFailed):
        await connect().evaluate(PLAN)


@pytest.mark.parametrize(
    ("body", "series"),
    [
        pytest.param(response('[{"__name__":"up"}]', '"status":"success","error":null,"isPartial":null,'), [Series("up")], id="fields that are null"),
        pytest.param(response('[{"__name__":"up"}]', ""), [Series("up")], id="without a status"),
        pytest.param(response('[{"__name__":"up","pod":null}]'), [Series("up", frozenset({"pod"}))], id="a label that is null"),
        pytest.param(response("null"), [], id="no list"),
        pytest.param(response('[{"__name__":"up"}]') + " text", [Series("up")], id="text behind the document"),
    ],
)  # fmt: skip
async def test_series_are_read_from_a_response_with_zero_values(server, connect, body, series):
    server.says = raw(body.encode())
    client = connect()
    assert list(await client.series(match="up", max_age_seconds=60)) == series
    assert len(await client.label_sets(match="up", max_age_seconds=60)) == len(series)


@pytest.mark.parametrize(
    "body", ['{"status":"success"}', response("[]", '"status":"error",'), response("[]")[:-1]]
)
async def test_no_list_is_not_an_empty_list(server, connect, body):
    server.says = raw(body.encode())
    client = connect()
    with pytest.raises(QueryFailed):
        await client.series(match="up", max_age_seconds=60)
    with pytest.raises(QueryFailed):
        await client.label_sets(match="up", max_age_seconds=60)


async def test_a_partial_list_without_a_status_is_partial(server, connect):
    server.says = raw(response("[]", '"isPartial":true,').encode())
    with pytest.raises(SeriesIncomplete):
        await connect().series(match="up", max_age_seconds=60)


async def test_an_error_without_a_type_says_why(server, connect):
    body = b'{"status":"error","errorType":null,"error":"too many samples"}'
    server.says = raw(body, "422 Unprocessable Entity")
    with pytest.raises(QueryFailed, match=r"HTTP 422.*: too many samples"):
        await connect().evaluate(PLAN)


def test_the_series_before_a_text_that_fills_pieces_are_known():
    reader = decode.SeriesReader()
    reader.feed(response('[{"__name__":"up"}]').encode() + b"x" * 200_000)
    reader.finish()
    assert reader.shapes == [Series("up")]
