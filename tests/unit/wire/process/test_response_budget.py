"""What may be read at a time: a bound for all responses, one that may exceed it, and a bound for a single one."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deadline import DEADLINE_SECONDS
from wire.process.response_budget import ResponseBudget, ResponseTooLarge, until_decoded

SIZES = st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=8), min_size=1, max_size=8)


def budget() -> ResponseBudget:
    return ResponseBudget(100, response_bytes_max=150, free_bytes=10)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_small_response_waits_for_nothing():
    used = budget()
    with used.claim() as large, used.claim() as small:
        await large.grow(140)
        await asyncio.wait_for(small.grow(10), DEADLINE_SECONDS)
    assert used.used_bytes == 0


async def test_a_response_waits_until_those_before_it_were_read():
    used = budget()
    third = used.claim()
    with used.claim() as exceeding, used.claim() as second:
        await exceeding.grow(140)
        await second.grow(70)
        growing = asyncio.create_task(third.grow(60))
        await turns()
        assert not growing.done()
    await asyncio.wait_for(growing, DEADLINE_SECONDS)


async def test_others_have_all_of_the_bound_beside_one_that_exceeds_it_and_never_ends():
    """For example because its server has stopped in the middle of it."""
    used = budget()
    with used.claim() as exceeding, used.claim() as second, used.claim() as third:
        await exceeding.grow(150)
        growing = asyncio.gather(second.grow(60), third.grow(60))
        await asyncio.wait_for(growing, DEADLINE_SECONDS)


async def test_one_that_gave_up_waiting_leaves_nothing_behind():
    used = budget()
    with used.claim() as exceeding, used.claim() as first:
        await exceeding.grow(140)
        await first.grow(70)
        with used.claim() as second:
            growing = asyncio.create_task(second.grow(60))
            await turns()
            growing.cancel()
            await asyncio.gather(growing, return_exceptions=True)
    assert used.used_bytes == 0
    with used.claim() as third:
        await asyncio.wait_for(third.grow(110), DEADLINE_SECONDS)


async def test_a_response_that_takes_too_much_is_refused_and_given_back():
    used = budget()
    with used.claim() as claim:
        await claim.grow(100)
        with pytest.raises(ResponseTooLarge):
            await claim.grow(51)
    assert used.used_bytes == 0


async def test_a_body_that_is_decoded_counts_until_then():
    used = budget()
    with until_decoded():
        with used.claim() as claim:
            await claim.grow(100)
        assert used.used_bytes == 90
    assert used.used_bytes == 0


async def test_a_response_that_has_failed_does_not_count_while_another_one_is_decoded():
    used = budget()

    async def fail() -> None:
        with used.claim() as claim:
            await claim.grow(100)
            raise ConnectionError

    with until_decoded():
        with pytest.raises(ConnectionError):
            await fail()
        assert used.used_bytes == 0


async def test_a_task_that_reads_after_the_decoding_gives_back_what_it_has_read():
    used = budget()
    may_read = asyncio.Event()

    async def read() -> None:
        await may_read.wait()
        with used.claim() as claim:
            await claim.grow(100)

    with until_decoded():
        reading = asyncio.create_task(read())
        await turns()
    may_read.set()
    await asyncio.wait_for(reading, DEADLINE_SECONDS)
    assert used.used_bytes == 0


@given(SIZES)
def test_all_are_read_and_take_no_more_than_the_bound_and_one_beside_it(sizes):
    async def scenario() -> None:
        used, most = budget(), 0

        async def read(pieces: list[int]) -> None:
            nonlocal most
            with used.claim() as claim:
                try:
                    for each in pieces:
                        await claim.grow(each)
                        most = max(most, used.used_bytes)
                        await asyncio.sleep(0)
                except ResponseTooLarge:
                    assert sum(pieces) > used.response_bytes_max

        await asyncio.wait_for(asyncio.gather(*map(read, sizes)), DEADLINE_SECONDS)
        assert used.used_bytes == 0
        assert most <= used.bytes_max + used.response_bytes_max

    asyncio.run(scenario())
