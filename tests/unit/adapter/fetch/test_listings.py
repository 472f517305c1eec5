"""Lists of series: how many at once, and that queries do not wait for them."""

import asyncio

import pytest

from adapter.fetch import decode
from adapter.fetch.prometheus import LISTINGS_MAX
from adapter.model import Lane, Plan
from adapter.ports import QueryFailed
from tests.traced_memory import traced_memory
from tests.unit.adapter.fetch.canned import answer, raw, vector


async def test_a_query_does_not_wait_for_lists_of_series(server, connect):
    client = connect(concurrency_max=2)
    server.may_answer.clear()
    server.filled_at = LISTINGS_MAX
    listing = [
        asyncio.create_task(client.series(match=f"m{number}", max_age_seconds=60))
        for number in range(10)
    ]
    await server.filled.wait()
    assert len(server.requested) == LISTINGS_MAX
    server.filled_at, server.says = LISTINGS_MAX + 1, vector()
    server.filled.clear()
    evaluating = asyncio.create_task(client.evaluate(Plan("up")))
    await server.filled.wait()
    assert server.requested[-1].path == "/api/v1/query"
    server.may_answer.set()
    await evaluating
    for each in listing:
        each.cancel()
    await asyncio.gather(*listing, return_exceptions=True)


async def test_the_lists_of_commands_go_after_those_of_rules(server, connect):
    client = connect(listings_max=1)
    server.says = answer({"status": "success", "data": []})
    server.may_answer.clear()
    lanes = [Lane.AUTOSCALER, Lane.COMMAND, Lane.AUTOSCALER]
    listing = [
        asyncio.create_task(client.series(match=f"m{number}", max_age_seconds=60, lane=lane))
        for number, lane in enumerate(lanes)
    ]
    await server.filled.wait()
    listing.append(asyncio.create_task(client.label_sets(match="check", max_age_seconds=60)))
    server.may_answer.set()
    await asyncio.gather(*listing)
    listed = [each.parameters["match[]"][0] for each in server.requested]
    assert listed == ["m0", "m2", "m1", "check"]


async def test_only_large_answers_are_compressed(server, connect):
    client = connect()
    await client.evaluate(Plan("up"))
    server.says = answer({"status": "success", "data": []})
    await client.series(match="up", max_age_seconds=60)
    assert [requested.headers["Accept-Encoding"] for requested in server.requested] == [
        "identity",
        "gzip",
    ]


def listed(names, labels):
    """The response with a series for each name, with these labels."""
    each = (b'{"__name__":"%s",%s}' % (name, labels(number)) for number, name in enumerate(names))
    return raw(b'{"status":"success","data":[' + b",".join(each) + b"]}")


DISTINCT_NAMES = [b"requests_%d_total" % number for number in range(20_000)]


@pytest.mark.deviation("distinct-series")
@pytest.mark.parametrize(
    ("names", "labels"),
    [
        pytest.param(DISTINCT_NAMES, lambda _: b'"pod":"a"', id="names"),
        pytest.param([b"up"] * 10_000, lambda number: b'"label_%d":""' % number, id="label names"),
        pytest.param(
            [b"up"] * 2_000,
            lambda number: b",".join(b'"label_%d_%d":""' % (number, each) for each in range(40)),
            id="sets of label names",
        ),
        pytest.param(
            [b"%d" % number + b"x" * 10_000 for number in range(500)],
            lambda _: b'"pod":"a"',
            id="long names",
        ),
    ],
)
async def test_a_selector_that_lists_very_many_distinct_series_fails_before_they_fill_the_memory(
    server, connect, names, labels
):
    server.says = listed(names, labels)
    client = connect(series_bytes_max=1024 * 1024)
    with traced_memory() as memory:
        with pytest.raises(
            QueryFailed, match=r"match_this.*more than 1 MiB.*seriesQuery.*matchers"
        ) as failed:
            await client.series(match="match_this", max_age_seconds=60)
        taken_bytes = memory.peak_bytes
    assert not failed.value.retryable
    assert taken_bytes < 4 * 1024 * 1024


def test_the_memory_of_distinct_series_is_estimated_as_it_is():
    def taken(count, labels):
        body = listed(DISTINCT_NAMES[:count], labels).partition(b"\r\n\r\n")[2]
        reader = decode.SeriesReader()
        with traced_memory() as memory:
            reader.feed(body)
            reader.finish()
            return memory.kept_bytes, reader.size_bytes

    for labels in (
        lambda _: b'"pod":"a"',
        lambda number: b'"label_%d":""' % number,
        lambda number: b",".join(b'"label_%d_%d":""' % (number, each) for each in range(40)),
    ):
        taken_bytes, estimated_bytes = taken(1_000, labels)
        assert taken_bytes <= estimated_bytes <= 2 * taken_bytes


async def test_series_that_are_listed_many_times_are_counted_once(server, connect):
    server.says = listed([b"up"] * 50_000, lambda number: b'"pod":"web-%d"' % number)
    client = connect(series_bytes_max=10_000)
    assert len(await client.series(match="up", max_age_seconds=60)) == 1
