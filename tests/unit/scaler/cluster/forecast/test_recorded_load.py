"""The recorded load: what is sent, what is used of the response, and what every failure says."""

import base64
import itertools

import pytest

from scaler.cluster.forecast.load_query import NoRecordedLoad
from scaler.cluster.forecast.recorded_load import RESPONSE_BYTES_MAX, RecordedLoad
from tests.unit.adapter.fetch.canned import CannedServer, answer, raw
from wire.prometheus.options import PrometheusOptions

FIRST = 20_000 * 1440
SECRET = "s3cret"


@pytest.fixture
async def server():
    async with CannedServer().listening() as listening:
        listening.says = matrix()
        yield listening


def matrix(*pairs, **fields):
    result = [{"metric": {}, "values": [[at, text] for at, text in pairs]}] if pairs else []
    return answer(
        {"status": "success", "data": {"resultType": "matrix", "result": result}} | fields
    )


async def read(server, minutes=10, **options):
    queries = RecordedLoad(PrometheusOptions(**{"url": server.url, **options}), user_agent="test/1")
    return await queries.by_minute("sum(up)", FIRST, FIRST + minutes - 1)


async def test_one_sample_per_minute_is_requested_at_the_begin_of_the_minute(server):
    server.says = matrix((FIRST * 60, "1.5"), ((FIRST + 2) * 60, "2"))
    assert await read(server) == {FIRST: 1.5, FIRST + 2: 2.0}
    (request,) = server.requested
    assert (request.method, request.path) == ("POST", "/api/v1/query_range")
    assert request.form["query"] == ["sum(up)"]
    assert request.form["start"] == [str(FIRST * 60)]
    assert request.form["end"] == [str((FIRST + 9) * 60)]
    assert request.form["step"] == ["60"]


async def test_fifteen_days_are_requested_by_day(server):
    """Prometheus refuses more than 11,000 points per series."""
    await read(server, minutes=15 * 1440 + 7)
    spans = [(int(each.form["start"][0]), int(each.form["end"][0])) for each in server.requested]
    assert len(spans) == 16
    assert all(end - start <= 86_400 for start, end in spans)
    assert all(later[0] == earlier[1] + 60 for earlier, later in itertools.pairwise(spans))
    assert spans[-1][1] == (FIRST + 15 * 1440 + 6) * 60


async def test_values_that_are_not_numbers_are_missing(server):
    server.says = matrix((FIRST * 60, "NaN"), ((FIRST + 1) * 60, "+Inf"), ((FIRST + 2) * 60, "3"))
    assert await read(server) == {FIRST + 2: 3.0}


async def test_credentials_are_sent_and_read_again_for_every_request(server, tmp_path):
    token = tmp_path / "token"
    token.write_text("one\n")
    options = PrometheusOptions(
        url=f"{server.url}/prefix/?tenant=shop", headers=(("X-Scope-OrgID", "7"),), token_file=token
    )
    queries = RecordedLoad(options, user_agent="test/1")
    await queries.by_minute("up", FIRST, FIRST)
    token.write_text("three")
    await queries.by_minute("up", FIRST, FIRST)
    first, second = server.requested
    assert first.path == "/prefix/api/v1/query_range"
    assert first.parameters == {"tenant": ["shop"]}
    assert first.headers["X-Scope-OrgID"] == "7"
    assert first.headers["Authorization"] == "Bearer one"
    assert second.headers["Authorization"] == "Bearer three"


async def test_a_user_and_password_are_sent(server, tmp_path):
    (tmp_path / "password").write_text(SECRET)
    await read(server, username="me", password_file=tmp_path / "password")
    expected = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert server.requested[0].headers["Authorization"] == f"Basic {expected}"


REFUSED = {"status": "error", "errorType": "bad_data", "error": "parse error"}


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        pytest.param(answer(REFUSED, "400 Bad Request"), "bad_data: parse error", id="refused"),
        pytest.param(raw(b"<html>", "502 Bad Gateway"), "responded with HTTP 502", id="proxy"),
        pytest.param(raw(b"", "302 Found"), "responded with HTTP 302", id="redirect"),
        pytest.param(raw(b"{}", length=99), "cannot be read", id="cut off"),
        pytest.param(raw(b" " * (RESPONSE_BYTES_MAX + 1)), "larger than 1048576", id="too large"),
        pytest.param(
            matrix(warnings=["store thanos-2 is down"]), "not complete: store", id="partial"
        ),
        pytest.param(matrix((FIRST * 60, "one")), "not Prometheus' JSON", id="no number"),
    ],
)
async def test_a_failure_names_the_server_and_the_cause(server, says, problem):
    server.says = says
    with pytest.raises(NoRecordedLoad, match=problem):
        await read(server)


async def test_a_warning_of_promql_is_not_a_failure(server):
    server.says = matrix((FIRST * 60, "1"), warnings=["PromQL info: metric might not be a counter"])
    assert await read(server) == {FIRST: 1.0}


async def test_secrets_are_never_shown(server, tmp_path):
    """Neither of the URL nor of a header, also where a file or the server is missing."""
    url = server.url.replace("http://", f"http://me:{SECRET}@")
    server.says = raw(b"", "401 Unauthorized")
    options = {"url": f"{url}?token={SECRET}", "headers": (("X-Token", SECRET),)}
    with pytest.raises(NoRecordedLoad) as unauthorized:
        await read(server, **options)
    with pytest.raises(NoRecordedLoad) as missing:
        await read(server, **options, token_file=tmp_path / "token")
    with pytest.raises(NoRecordedLoad) as refused:
        await read(server, **options | {"url": f"http://me:{SECRET}@127.0.0.1:1?token={SECRET}"})
    for each in (unauthorized, missing, refused):
        assert SECRET not in str(each.value)
    assert "No such file" in str(missing.value)
