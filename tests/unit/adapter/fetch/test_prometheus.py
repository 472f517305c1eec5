"""The client of Prometheus: what it sends, what it decodes, and what every failure says."""

import asyncio
import base64
import math

import pytest

from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.fetch.reading_budget import reading_budget
from adapter.model import Backend, BackendRef, Plan, ResultKind, Sending, Series
from adapter.ports import QueryFailed
from testbed.waiting import until
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.fetch.canned import answer, raw, vector
from wire.prometheus.access import FileCredentials

PLAN = Plan('sum by (pod) (rate(x{a="b"}[1m]))')


def result(kind: str, content: object) -> bytes:
    return answer({"status": "success", "data": {"resultType": kind, "result": content}})


async def test_a_vector_is_understood_with_its_labels_values_and_times(server, connect):
    server.says = vector(({"pod": "a"}, "1.5"), ({"pod": "b"}, "NaN"), ({}, "+Inf"))
    evaluation = await connect(monotonic=lambda: 300.0).evaluate(PLAN)
    assert evaluation.kind is ResultKind.VECTOR
    first, second, third = evaluation.samples
    assert (first.labels, first.value, first.timestamp_seconds) == ({"pod": "a"}, 1.5, 1000.0)
    assert math.isnan(second.value)
    assert third.value == math.inf
    assert evaluation.ahead_seconds == 700.0


@pytest.mark.parametrize(
    ("kind", "content", "samples"),
    [
        pytest.param("scalar", [1000.5, "2"], 1, id="scalar"),
        pytest.param("string", [1000.5, "text"], 0, id="string"),
        pytest.param("matrix", [{"metric": {}, "values": [[1, "2"]]}], 0, id="matrix"),
        pytest.param("vector", None, 0, id="no list at all"),
    ],
)
async def test_every_kind_of_result_is_distinguished(server, connect, kind, content, samples):
    server.says = result(kind, content)
    evaluation = await connect().evaluate(PLAN)
    assert evaluation.kind is ResultKind(kind)
    assert len(evaluation.samples) == samples


@pytest.mark.parametrize(
    ("remarks", "partial"),
    [
        pytest.param({}, False, id="none"),
        pytest.param({"warnings": ["store 10.0.0.7 timed out"]}, True, id="Thanos"),
        pytest.param({"isPartial": True}, True, id="VictoriaMetrics"),
        pytest.param({"warnings": ["PromQL warning: mixed classic"]}, False, id="PromQL's own"),
        pytest.param({"infos": ["PromQL info: not a counter"]}, False, id="infos"),
    ],
)
async def test_an_answer_is_partial_when_a_store_is_missing(server, connect, remarks, partial):
    data = {"resultType": "vector", "result": []}
    server.says = answer({"status": "success", "data": data, **remarks})
    evaluation = await connect().evaluate(PLAN)
    assert evaluation.partial is partial
    assert evaluation.warnings == tuple(remarks.get("warnings", []) + remarks.get("infos", []))


async def test_a_query_after_the_client_was_closed_fails_as_one_without_a_response(server, connect):
    """A reload closes the clients of the former configuration, which requests under way may still use."""
    server.says = vector()
    client = connect()
    await client.evaluate(PLAN)
    await client.close()
    with pytest.raises(QueryFailed, match="the client was closed"):
        await client.evaluate(PLAN)


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_query_is_sent_once_more_when_its_connection_ends_without_a_response(
    server, connect, verb
):
    server.says = b""
    with pytest.raises(QueryFailed, match="disconnected"):
        await connect(verb=verb).evaluate(PLAN)
    assert len(server.requested) == 2


@pytest.mark.deviation("parameters-of-the-url")
@pytest.mark.parametrize("path", ["", "/", "/prometheus", "/prometheus/"])
async def test_get_sends_the_query_behind_the_base_path_and_keeps_its_parameters(
    server, connect, path
):
    await connect(url=f"{server.url}{path}?tenant=a%26b").evaluate(PLAN)
    [requested] = server.requested
    assert requested.path == f"{path.rstrip('/')}/api/v1/query"
    assert requested.parameters == {
        "tenant": ["a&b"],
        "query": [PLAN.query],
        "timeout": ["60000ms"],
    }


STATISTICS = {
    "timings": {"evalTotalTime": 0.001},
    "samples": {"totalQueryableSamples": 500_000, "peakSamples": 7},
}


@pytest.mark.parametrize(
    ("stats", "samples"),
    [
        pytest.param({"stats": STATISTICS}, 500_000, id="Prometheus"),
        pytest.param({}, None, id="none"),
        pytest.param({"stats": None}, None, id="null"),
        pytest.param({"stats": {"seriesFetched": "4"}}, None, id="of another form"),
        pytest.param({"stats": {"samples": {"totalQueryableSamples": "4"}}}, None, id="a text"),
        pytest.param({"stats": [1]}, None, id="a list"),
    ],
)
@pytest.mark.parametrize("row_count", [1, 5_000])
async def test_an_evaluation_says_how_many_samples_were_read_for_it(
    server, connect, stats, samples, row_count
):
    rows = [{"metric": {"pod": f"web-{n}"}, "value": [1000, "1"]} for n in range(row_count)]
    data = {"resultType": "vector", "result": rows, **stats}
    server.says = answer({"status": "success", "data": data})
    found = await connect().evaluate(PLAN, Sending(counts_samples=True))
    assert (found.cost.samples, len(found.samples)) == (samples, row_count)
    assert server.requested[0].parameters["stats"] == ["all"]


async def test_the_time_of_an_evaluation_does_not_include_the_wait_for_a_slot(server, connect):
    now_seconds = [100.0]
    client = connect(monotonic=lambda: now_seconds[0], concurrency_max=1)
    server.may_answer.clear()
    both = [asyncio.create_task(client.evaluate(Plan(query))) for query in ("a", "b")]
    await server.filled.wait()
    now_seconds[0] += 5.0
    server.may_answer.set()
    assert [(await each).cost.seconds for each in both] == [5.0, 0.0]


@pytest.mark.parametrize(("seconds_max", "sent"), [(2.0, "2000ms"), (90.0, "60000ms")])
async def test_a_query_whose_result_is_of_no_use_later_ends_earlier(
    server, connect, seconds_max, sent
):
    await connect().evaluate(PLAN, Sending(seconds_max=seconds_max))
    assert server.requested[0].parameters["timeout"] == [sent]


@pytest.mark.parametrize(
    ("length", "may_post", "method"),
    [
        pytest.param(5_000, True, "POST", id="long"),
        pytest.param(500, True, "GET", id="short"),
        pytest.param(5_000, False, "GET", id="a proxy may refuse it and there is no other query"),
    ],
)
async def test_only_a_long_query_that_another_one_can_replace_is_posted_against_the_verb(
    server, connect, length, may_post, method
):
    query = f'up{{namespace=~"{"x" * length}"}}'
    await connect().evaluate(Plan(query), Sending(may_post=may_post))
    [requested] = server.requested
    assert requested.method == method
    assert [query] in (requested.form.get("query"), requested.parameters.get("query"))


async def test_an_evaluation_is_indexed_by_the_labels_of_its_plan(server, connect):
    server.says = vector(
        ({"pod": "a", "code": "200"}, "1"), ({"pod": "b"}, "2"), ({"pod": "a"}, "3"), ({}, "4")
    )
    found = (await connect().evaluate(Plan("up", key_labels=("pod",)))).by_key
    assert {key: [row.value for row in rows] for key, rows in found.items()} == {
        ("a",): [1.0, 3.0],
        ("b",): [2.0],
        ("",): [4.0],
    }


async def test_post_sends_the_query_as_a_form(server, connect):
    await connect(url=f"{server.url}?tenant=a", verb="POST").evaluate(PLAN)
    [requested] = server.requested
    assert (requested.method, requested.parameters) == ("POST", {"tenant": ["a"]})
    assert requested.form["query"] == [PLAN.query]
    assert requested.headers["Content-Type"] == "application/x-www-form-urlencoded"


async def test_series_are_listed_since_the_greatest_age(server, connect):
    server.says = answer({"status": "success", "data": [{"__name__": "up", "pod": "a"}]})
    found = await connect().series(match="up", max_age_seconds=60)
    assert found == [Series("up", frozenset({"pod"}))]
    [requested] = server.requested
    assert requested.path == "/api/v1/series"
    assert requested.parameters["match[]"] == ["up"]
    assert "end" not in requested.parameters


async def test_label_sets_are_whole_series(server, connect):
    found = [{"__name__": "up", "pod": "a"}, {"__name__": "up", "pod": "b"}]
    server.says = answer({"status": "success", "data": found})
    client = connect()
    assert await client.label_sets(match="up", max_age_seconds=60) == found
    [request] = server.requested
    assert (request.path, request.parameters["match[]"]) == ("/api/v1/series", ["up"])


async def test_headers_and_a_token_are_sent_and_a_new_token_at_once(server, connect, tmp_path):
    token = tmp_path / "token"
    token.write_text("first\n")
    client = connect(token_file=token, headers=(("X-Scope-OrgID", "a"),))
    await client.evaluate(PLAN)
    token.write_text("second, and longer\n")
    await client.evaluate(PLAN)
    token.unlink()
    await client.evaluate(PLAN)
    sent = [requested.headers["Authorization"] for requested in server.requested]
    assert sent == ["Bearer first", *["Bearer second, and longer"] * 2]
    assert server.requested[0].headers["X-Scope-OrgID"] == "a"


@pytest.mark.parametrize("by_url", [True, False], ids=["in the URL", "by file"])
async def test_a_user_and_password_are_sent(server, connect, tmp_path, by_url):
    if by_url:
        client = connect(url=f"http://me:s%40me@{server.address}")
    else:
        (tmp_path / "password").write_text("s@me\n")
        client = connect(username="me", password_file=tmp_path / "password")
    await client.evaluate(PLAN)
    sent = server.requested[0].headers["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:s@me"


def test_a_token_that_cannot_be_read_is_found_before_the_first_request(tmp_path):
    backend = Backend(url="http://127.0.0.1:9", token_file=tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        FileCredentials(backend).check()


REFUSED = {"status": "error", "errorType": "bad_data", "error": "parse error: unexpected end"}
FAILURES = [
    pytest.param(answer(REFUSED, "400 Bad Request"), "bad_data: parse error", False, id="400"),
    pytest.param(
        answer({**REFUSED, "errorType": "execution"}, "422 Unprocessable Entity"),
        "execution: parse error",
        False,
        id="422",
    ),
    pytest.param(
        answer({**REFUSED, "errorType": "timeout"}, "503 Service Unavailable"),
        "timeout: parse error",
        True,
        id="503",
    ),
    pytest.param(raw(b"<html>", "503 Service Unavailable"), "HTTP 503", True, id="a proxy's 503"),
    pytest.param(raw(b"", "502 Bad Gateway"), "HTTP 502 Bad Gateway", True, id="502"),
    pytest.param(raw(b"", "429 Too Many Requests"), "HTTP 429", True, id="429"),
    pytest.param(raw(b"", "401 Unauthorized"), "check the credentials", False, id="401"),
    pytest.param(raw(b"no", "404 Not Found"), "check the path", False, id="404"),
    pytest.param(raw(b"<html>login</html>"), "not Prometheus' JSON", True, id="garbage"),
    pytest.param(raw(b'{"status":"succ', length=500), "was cut off", True, id="half a body"),
    pytest.param(raw(b'{"status":"succ'), "not Prometheus' JSON", True, id="half a document"),
    pytest.param(raw(b"\xff\xfe\x00"), "not Prometheus' JSON", True, id="no text"),
    pytest.param(b"SSH-2.0-OpenSSH\r\n", "Bad status line", True, id="no HTTP"),
    pytest.param(b"", "disconnected", True, id="hangs up"),
    pytest.param(None, "did not respond within 0.2 s", True, id="hangs"),
    pytest.param(answer({"status": "success"}), "has no data", True, id="no content"),
    pytest.param(answer({**REFUSED}), "bad_data: parse error", True, id="a refusal under 200"),
    pytest.param(raw(b" " * 2000), "larger than 1000 bytes", False, id="too large"),
]


def seconds_for(says: bytes | None) -> float:
    """Short only where the server never responds: on a busy machine it may take long."""
    return 0.2 if says is None else 10.0


@pytest.mark.parametrize(("says", "cause", "retryable"), FAILURES)
async def test_a_failure_names_the_query_and_the_cause(server, connect, says, cause, retryable):
    server.says = says
    client = connect(timeout_seconds=seconds_for(says), answer_bytes_max=1000)
    with pytest.raises(QueryFailed) as failure:
        await client.evaluate(PLAN)
    assert cause in failure.value.cause
    assert failure.value.query == PLAN.query
    assert failure.value.retryable is retryable


@pytest.mark.deviation("native-histograms")
async def test_a_native_histogram_is_a_row_without_a_number_and_spares_the_others(server, connect):
    rows = [
        {"metric": {"pod": "a"}, "histogram": [1000, {"count": "1", "sum": "2", "buckets": []}]},
        {"metric": {"pod": "b"}, "value": [1000, "3"]},
    ]
    server.says = result("vector", rows)
    histogram, number = (await connect().evaluate(PLAN)).samples
    assert (histogram.labels, histogram.timestamp_seconds) == ({"pod": "a"}, 1000)
    assert math.isnan(histogram.value)
    assert histogram.is_histogram
    assert (number.labels, number.value, number.is_histogram) == ({"pod": "b"}, 3.0, False)


async def test_a_closed_port_is_named_and_nothing_secret_is(unused_tcp_port):
    backend = Backend(url=f"http://me:hunter2@127.0.0.1:{unused_tcp_port}/p?token=hunter2")
    client = PrometheusClient(backend, FileCredentials(backend))
    with pytest.raises(QueryFailed) as failure:
        await client.evaluate(PLAN)
    await client.close()
    assert failure.value.cause.startswith(f"http://127.0.0.1:{unused_tcp_port}/p: ")
    assert "hunter2" not in str(failure.value)


@pytest.mark.parametrize(("says", "cause", "retryable"), FAILURES[:-2])
async def test_a_list_of_series_that_fails_says_so_too(server, connect, says, cause, retryable):
    server.says = says
    client = connect(discovery_timeout_seconds=seconds_for(says))
    with pytest.raises(QueryFailed, match=cause):
        await client.series(match="up", max_age_seconds=60)


async def test_no_more_queries_are_in_flight_than_allowed(server, connect):
    server.may_answer.clear()
    server.filled_at = 2
    client = connect(concurrency_max=2)
    asking = [asyncio.create_task(client.evaluate(PLAN)) for _ in range(6)]
    await server.filled.wait()
    server.may_answer.set()
    await asyncio.gather(*asking)
    assert (len(server.requested), server.at_once_max) == (6, 2)


@pytest.mark.deviation("query-timeout")
async def test_waiting_for_the_concurrency_limit_counts_towards_the_timeout(server, connect):
    server.says = None
    client = connect(concurrency_max=1, timeout_seconds=0.2)
    outcomes = await asyncio.gather(
        *(client.evaluate(PLAN) for _ in range(5)), return_exceptions=True
    )
    assert all("did not respond within 0.2 s" in str(outcome) for outcome in outcomes)


async def test_each_request_goes_to_the_backend_it_names(server, connect):
    backends = Backends(
        {BackendRef(name): connect(url=f"{server.url}/{name}") for name in ("a", "b")}
    )
    await backends.evaluate(Plan("up", BackendRef("b")))
    assert [requested.path for requested in server.requested] == ["/b/api/v1/query"]
    with pytest.raises(QueryFailed, match="no backend has that name"):
        await backends.evaluate(Plan("up", BackendRef("c")))


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_connection_that_was_closed_while_idle_is_not_a_failure(server, connect, verb):
    server.hangs_up_first = True
    assert await connect(verb=verb).evaluate(PLAN)


@pytest.mark.deviation("large-results")
async def test_a_result_that_takes_too_much_memory_is_refused_with_its_size_and_the_fix(server):
    server.says = vector(*(({"pod": f"web-{number}"}, "1") for number in range(4_000)))
    backend = Backend(url=server.url, timeout_seconds=DEADLINE_SECONDS)
    budget = reading_budget(result_bytes_max=1024 * 1024)
    client = PrometheusClient(backend, FileCredentials(backend), budget)
    with pytest.raises(QueryFailed, match=r"take more than 1 MiB of memory.*Aggregate") as failed:
        await client.evaluate(PLAN)
    assert not failed.value.retryable, "a wide query is suspended, and narrow queries answer"
    assert PLAN.query in str(failed.value)
    assert budget.used_bytes == 0
    server.says = vector(({"pod": "a"}, "1"))
    assert (await client.evaluate(PLAN)).samples
    await client.close()


@pytest.mark.parametrize(
    ("row_count", "bytes_max"),
    [
        pytest.param(4_000, 0, id="while it is read"),
        pytest.param(100, 10_000, id="with its last rows"),
    ],
)
async def test_a_large_result_that_waits_for_others_too_long_says_so(
    server, monkeypatch, row_count, bytes_max
):
    server.says = vector(*(({"pod": f"web-{number}"}, "1") for number in range(row_count)))
    backend = Backend(url=server.url, timeout_seconds=DEADLINE_SECONDS)
    budget = reading_budget(bytes_max, free_bytes=0)
    client = PrometheusClient(backend, FileCredentials(backend), budget)
    with budget.claim() as other:
        await other.grow(bytes_max + 1)
        evaluating = asyncio.create_task(client.evaluate(PLAN))
        await asyncio.to_thread(until, lambda: budget._waiting, what="the result to wait")
        loop, now = asyncio.get_running_loop(), asyncio.get_running_loop().time
        monkeypatch.setattr(loop, "time", lambda: now() + DEADLINE_SECONDS)
        with pytest.raises(QueryFailed, match="while other large results were read") as failed:
            await evaluating
    assert failed.value.retryable
    assert (await client.evaluate(PLAN)).samples
    await client.close()
