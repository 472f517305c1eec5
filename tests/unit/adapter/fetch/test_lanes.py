"""Slots are bounded, given by lane, and never lost."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from adapter.fetch.lanes import LaneGate
from adapter.model import Lane
from tests.fakes import virtual_time


class Requests:
    """Requests through a gate, which end when the test says so."""

    def __init__(self, slots):
        self.gate = LaneGate(slots)
        self.running = []

    async def request(self, lane, number):
        async with self.gate.slot(lane):
            ends = asyncio.Event()
            self.running.append((lane, number, ends))
            await ends.wait()

    def start(self, lane, number=0):
        return asyncio.create_task(self.request(lane, number))

    async def end_first(self):
        lane, number, ends = self.running.pop(0)
        ends.set()
        await settled()
        return lane, number


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_autoscalers_go_before_lists_and_lists_before_commands():
    requests = Requests(slots=1)
    lanes = [Lane.LIST, Lane.COMMAND, Lane.LIST, Lane.AUTOSCALER, Lane.AUTOSCALER]
    tasks = [requests.start(lane, number) for number, lane in enumerate(lanes)]
    await settled()
    ended = [await requests.end_first() for _ in lanes]
    assert [number for _, number in ended] == [0, 3, 4, 2, 1]
    await asyncio.gather(*tasks)


async def test_a_waiting_request_that_is_cancelled_takes_no_slot():
    requests = Requests(slots=1)
    first, cancelled, last = (requests.start(Lane.LIST, number) for number in range(3))
    await settled()
    cancelled.cancel()
    await requests.end_first()
    assert [number for _, number, _ in requests.running] == [2]
    await requests.end_first()
    await asyncio.gather(first, cancelled, last, return_exceptions=True)


async def test_a_slot_that_is_given_to_a_cancelled_request_goes_to_the_next():
    requests = Requests(slots=1)
    first, cancelled, last = (requests.start(Lane.LIST, number) for number in range(3))
    await settled()
    requests.running.pop(0)[2].set()
    await first
    cancelled.cancel()
    await settled()
    _, number, ends = requests.running[-1]
    assert number == 2
    ends.set()
    await asyncio.gather(cancelled, last, return_exceptions=True)


@given(
    slots=st.integers(1, 3),
    steps=st.lists(
        st.tuples(st.sampled_from(["start", "end", "cancel"]), st.sampled_from(list(Lane)))
    ),
)
def test_no_slot_is_lost_and_no_more_are_used_than_there_are(slots, steps):
    async def run():
        requests = Requests(slots)
        tasks = []
        for step, lane in steps:
            if step == "start":
                tasks.append(requests.start(lane))
            elif step == "end" and requests.running:
                requests.running.pop(0)[2].set()
            elif step == "cancel" and tasks:
                tasks.pop(len(tasks) // 2).cancel()
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        for *_, ends in requests.running:
            ends.set()
        await settled()
        requests.running.clear()
        again = [requests.start(Lane.COMMAND) for _ in range(slots + 2)]
        await settled()
        assert len(requests.running) == slots
        for task in again:
            task.cancel()
        await asyncio.gather(*again, return_exceptions=True)

    asyncio.run(run())


def test_a_block_that_takes_long_goes_on_without_its_slot():
    """For example a query to a Prometheus that was replaced before it responded."""

    async def scenario():
        gate, ends = LaneGate(1, held_seconds=10.0), asyncio.Event()
        begun = []

        async def block(number):
            async with gate.slot(Lane.AUTOSCALER):
                begun.append((number, asyncio.get_running_loop().time()))
                await ends.wait()

        tasks = [asyncio.create_task(block(number)) for number in range(2)]
        await virtual_time.passes(11.0)
        assert begun == [(0, 0.0), (1, 10.0)]
        ends.set()
        await asyncio.gather(*tasks)
        again = [asyncio.create_task(block(number)) for number in range(2, 4)]
        ends.clear()
        await virtual_time.passes(1.0)
        assert [number for number, _ in begun] == [0, 1, 2], "one slot, which is given back once"
        ends.set()
        await asyncio.gather(*again)

    virtual_time.run(scenario())
