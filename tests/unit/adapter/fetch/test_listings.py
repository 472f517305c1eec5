"""Lists of series: how many at once, and that queries do not wait for them."""

import asyncio

from adapter.fetch.prometheus import LISTINGS_MAX
from adapter.model import Lane, Plan
from tests.unit.adapter.fetch.canned import answer, vector


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
