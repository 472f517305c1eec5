"""Reviews of what unknown clients send wait for each other, and not without end."""

import asyncio

import pytest

from wire.api.status import StatusError
from wire.serving.refusal_reasons import Reason
from wire.serving.review_queue import ReviewQueue


class ApiServer:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.most = 0
        self.answers = asyncio.Event()

    async def review(self) -> str:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await self.answers.wait()
        finally:
            self.in_flight -= 1
        return "no"


async def begun(queue: ReviewQueue, api: ApiServer, *addresses: str) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(queue.make(each, api.review)) for each in addresses]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def test_only_a_few_are_made_at_once_and_all_are_made():
    queue, api = ReviewQueue(at_once=2, waiting_max=9, address_max=9), ApiServer()
    tasks = await begun(queue, api, *"abcdef")
    assert api.in_flight == 2
    api.answers.set()
    assert await asyncio.gather(*tasks) == ["no"] * 6
    assert api.most == 2


@pytest.mark.deviation("limits-before-authentication")
async def test_a_full_queue_says_when_to_try_again():
    counted: list[tuple[Reason, str]] = []
    queue, api = (
        ReviewQueue(
            at_once=1,
            waiting_max=3,
            address_max=3,
            refused=lambda *refusal: counted.append(refusal),
        ),
        ApiServer(),
    )
    tasks = await begun(queue, api, *"abc")
    with pytest.raises(StatusError) as refused:
        await queue.make("d", api.review)
    assert refused.value.code == 429
    assert counted == [(Reason.REVIEWS, "d")]
    assert refused.value.details.retry_after_seconds == 1
    api.answers.set()
    await asyncio.gather(*tasks)
    assert await queue.make("d", api.review) == "no"


async def test_one_address_does_not_fill_the_queue():
    queue, api = ReviewQueue(at_once=1, waiting_max=9, address_max=2), ApiServer()
    tasks = await begun(queue, api, "a", "a")
    with pytest.raises(StatusError):
        await queue.make("a", api.review)
    tasks += await begun(queue, api, "b")
    api.answers.set()
    assert await asyncio.gather(*tasks) == ["no"] * 3


async def test_reviews_that_were_given_up_do_not_count():
    queue, api = ReviewQueue(at_once=1, waiting_max=2, address_max=2), ApiServer()
    tasks = await begun(queue, api, "a", "a")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    api.answers.set()
    assert await queue.make("a", api.review) == "no"
    assert not queue._waiting
