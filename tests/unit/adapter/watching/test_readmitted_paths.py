"""A path whose review has failed for a moment: no round confirms a value that it has not evaluated."""

import asyncio

from adapter.watching import endpoint
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.watching.test_endpoint import QUEUE, arrives
from tests.unit.adapter.watching.test_rounds import document, request
from wire.api.metric_stream import decode_update


async def refused_for_a_moment(adapter, client):
    """The review of the only path fails once."""
    adapter.seconds += endpoint.RECHECK_SECONDS
    adapter.access.is_away = True
    await client.send()
    await arrives(lambda: len(adapter.rounds) == 0)
    adapter.access.is_away = False


async def test_a_value_that_has_changed_since_a_failed_review_is_sent(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        await refused_for_a_moment(adapter, client)
        await client.send()
        adapter.answers.responses["queue"] = document("50")
        _, found = await client.round(watched=1)
        assert b'"value":"50"' in found[1][1]
        assert (await client.round(watched=1))[1] == {}


async def test_a_round_that_began_during_a_refusal_does_not_confirm_the_value_before_it(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        evaluated, goes_on = asyncio.Event(), asyncio.Event()

        async def slow(*_):
            evaluated.set()
            await goes_on.wait()
            return document("7")

        adapter.rounds._answer = slow
        adapter.rounds.watch(request("other"))
        adapter.seconds += endpoint.RECHECK_SECONDS
        adapter.access.is_away = True
        await client.send()
        await arrives(lambda: len(adapter.rounds) == 1)
        running = asyncio.create_task(adapter.rounds.round())
        await evaluated.wait()
        adapter.access.is_away = False
        await client.send()
        await arrives(lambda: len(adapter.rounds) == 2)
        goes_on.set()
        await running
        update = decode_update(await client.socket.receive_bytes(timeout=DEADLINE_SECONDS))
        assert [(each.id, each.code) for each in update.responses] == [(1, 503)]
        await client.socket.receive_bytes(timeout=DEADLINE_SECONDS)  # The end of that round.
        _, found = await client.round(watched=2)
        assert found[1][0] == 200


async def test_a_refusal_after_another_one_has_ended_is_sent(adapter):
    async with adapter.client() as client:
        await client.send(_1=QUEUE)
        await client.round(watched=1)
        await refused_for_a_moment(adapter, client)
        await client.send()
        await arrives(lambda: len(adapter.rounds) == 1)
        adapter.access.forbidden = {"queue"}
        adapter.seconds += endpoint.RECHECK_SECONDS
        _, found = await client.round(watched=1)
        assert found[1][0] == 403
