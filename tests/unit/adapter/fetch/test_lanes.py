"""Slots are bounded, given by lane, and never lost."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from adapter.fetch.lanes import LaneGate
from adapter.model import Lane


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
