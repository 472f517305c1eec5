"""Responses of a backend that no Prometheus sends: each is a failed query with its cause, and never another exception."""

import msgspec
import pytest

from adapter.fetch import decode
from adapter.model import Backend, Plan
from adapter.ports import QueryFailed
from tests.unit.adapter.fetch.canned import raw
from wire.prometheus.access import FileCredentials
from wire.prometheus.query_api import PrometheusQueries
from wire.prometheus.transport import NoAnswer, Transport

PLAN = Plan("up")
DEEP = b"[" * 3_000 + b"]" * 3_000
ROW = b'{"metric":{},"value":[1,"2"]}'
NOT_A_NUMBER = b'{"metric":{},"value":[1,"abc"]}'
NO_DATE = b'{"metric":{},"value":[1e300,"2"]}'


def vector(*rows: bytes, stats: bytes = b"{}") -> bytes:
    listed = b",".join(rows)
    data = b'{"resultType":"vector","result":[' + listed + b'],"stats":' + stats + b"}"
    return b'{"status":"success","data":' + data + b"}"


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        pytest.param(b'{"x":' + DEEP + b',"status":"success"}', "recursion", id="deep envelope"),
        pytest.param(vector(stats=b'{"x":' + DEEP + b"}"), "recursion", id="deep statistics"),
        pytest.param(vector(ROW, NOT_A_NUMBER), "'abc'", id="no number in the last rows"),
        pytest.param(
            vector(*[NOT_A_NUMBER] * (decode.ROWS_SLICE_BYTES // len(NOT_A_NUMBER) + 100)),
            "'abc'",
            id="no number in a slice",
        ),
        pytest.param(
            b'{"status":"success","data":{"resultType":"scalar","result":[1,"abc"]}}',
            "'abc'",
            id="no number as a scalar",
        ),
        pytest.param(vector(ROW, NO_DATE), "float", id="a time that is not a date"),
        pytest.param(
            vector(b'{"metric":{},"histogram":[-1e300,{}]}'), "float", id="that of a histogram"
        ),
    ],
)
async def test_a_malformed_response_to_a_query_is_its_failure(server, connect, body, cause):
    server.says = raw(body)
    with pytest.raises(QueryFailed, match=f"not Prometheus' JSON: .*{cause}"):
        await connect().evaluate(PLAN)


@pytest.mark.parametrize("data", [b"{}", b"[]", b'"x"', b'{"resultType":"vector","result":{}}'])
async def test_an_error_is_read_whatever_data_it_has(server, connect, data):
    server.says = raw(
        b'{"status":"error","errorType":"timeout","error":"too slow","data":' + data + b"}"
    )
    with pytest.raises(QueryFailed, match="too slow"):
        await connect().evaluate(PLAN)
    with pytest.raises(QueryFailed, match="too slow"):
        await connect().series(match="up", max_age_seconds=60)


async def test_a_deep_body_of_an_error_leaves_its_status(server, connect):
    server.says = raw(b'{"x":' + DEEP + b',"error":"no"}', "503 Service Unavailable")
    with pytest.raises(QueryFailed, match="HTTP 503"):
        await connect().evaluate(PLAN)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"x":' + DEEP + b',"status":"success","data":[]}', id="envelope"),
        pytest.param(b'{"status":"success","data":[],"x":' + DEEP + b"}", id="behind the list"),
        pytest.param(b'{"status":"success","data":[{"a":' + DEEP + b"}]}", id="a label"),
    ],
)
async def test_a_deep_list_of_series_is_a_failure(server, connect, body):
    server.says = raw(body)
    client = connect()
    with pytest.raises(QueryFailed, match="not Prometheus' JSON"):
        await client.series(match="up", max_age_seconds=60)
    with pytest.raises(QueryFailed, match="not Prometheus' JSON"):
        await client.label_sets(match="up", max_age_seconds=60)


@pytest.mark.parametrize(
    "stats",
    [
        pytest.param(b'{"x":' + DEEP + b"}", id="nested too deeply"),
        pytest.param(b'{"samples":{"totalQueryableSamples":' + b"9" * 400 + b"}}", id="no float"),
        pytest.param(b'{"samples":{"totalQueryableSamples":-1}}', id="fewer than none"),
    ],
)
def test_statistics_that_no_prometheus_sends_say_nothing(stats):
    assert decode.samples_read(msgspec.Raw(stats)) is None


async def test_a_deep_response_to_a_command_is_its_failure(server):
    server.says = raw(b'{"x":' + DEEP + b',"status":"success"}')
    credentials = FileCredentials(Backend(url=server.url))
    transport = Transport(server.url, credentials, user_agent="loadline-test")
    queries = PrometheusQueries(transport, seconds=5.0, bytes_max=100_000)
    with pytest.raises(NoAnswer, match=r"not Prometheus' JSON: .*recursion"):
        await queries.range("up", start=0, end=60, step=15)
    await queries.close()
