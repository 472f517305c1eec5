"""The memory that what is watched may take, and the size of one response."""

import pytest

from adapter.watching.endpoint import PATH_BYTES
from adapter.watching.rounds import WATCHED_BYTES
from tests.unit.adapter.watching.test_endpoint import QUEUE, Adapter, arrives
from tests.unit.adapter.watching.test_rounds import document


@pytest.mark.parametrize(
    ("bytes_max", "codes"),
    [
        pytest.param(3 * (PATH_BYTES + WATCHED_BYTES + 2_000), {200}, id="all fit"),
        pytest.param(2 * (PATH_BYTES + WATCHED_BYTES) + 2_800, {200, 429}, id="not all fit"),
        pytest.param(100, {429}, id="none fits"),
    ],
)
async def test_what_is_watched_has_a_budget_of_bytes(bytes_max, codes):
    adapter = Adapter(bytes_max)
    await adapter.listener.start("127.0.0.1", 0, tls=None)
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=f"{QUEUE}_2", _3=f"{QUEUE}_3")
        await arrives(lambda: received_paths(adapter) == 3)
        _, found = await client.round(watched=min(3, bytes_max // 1_700))
        assert {code for code, _ in found.values()} == codes
        assert found.keys() == {1, 2, 3}
        assert adapter.rounds.budget.taken <= bytes_max
    await arrives(lambda: adapter.rounds.budget.taken == 0)
    await adapter.listener.stop()


def received_paths(adapter):
    return sum(len(each._paths) + len(each._invalid) for each in adapter.rounds._listeners)


async def test_the_refusal_of_a_path_keeps_nothing_else_in_memory(adapter):
    adapter.access.forbidden.add("queue")
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=f"{QUEUE}_2")
        await client.round(watched=1)
        (stream,) = adapter.rounds._listeners
        assert stream._paths[1].refused.__traceback__ is None


async def test_a_path_whose_permission_cannot_be_checked_takes_nothing_of_the_budget(adapter):
    async with adapter.client() as client:
        await client.send(_1=f"{QUEUE}?fieldSelector={'a' * 10_000}", _2=QUEUE)
        _, found = await client.round(watched=1)
        assert (found[1][0], found[2][0]) == (400, 200)
        await client.send(stop=(2,))
        await arrives(lambda: adapter.rounds.budget.taken == 0)


async def test_a_response_that_does_not_fit_is_refused_and_smaller_ones_are_sent():
    adapter = Adapter(10_000)
    await adapter.listener.start("127.0.0.1", 0, tls=None)
    adapter.answers.responses["queue"] = document("1", labels={"large": "x" * 10_000})
    async with adapter.client() as client:
        await client.send(_1=QUEUE, _2=f"{QUEUE}_2")
        _, found = await client.round(watched=2)
        assert {number: code for number, (code, _) in found.items()} == {1: 429, 2: 200}
        await client.send(stop=(1,))
        assert (await client.round(watched=1))[1] == {}
    await arrives(lambda: adapter.rounds.budget.taken == 0)
    await adapter.listener.stop()
