"""Reconciles that are due shortly after each other begin together."""

import asyncio
import zlib

from scaler.control.controller import TOGETHER_SECONDS
from tests.fakes import virtual_time
from tests.unit.scaler.control.test_controller import controller, run_for


def test_many_reconciles_are_woken_up_for_together_and_none_is_late():
    moments: list[tuple[float, float]] = []

    async def scenario() -> None:
        def repeat(key: str) -> bool:
            began_seconds = asyncio.get_running_loop().time()
            due_seconds = zlib.crc32(key.removeprefix("ns/").encode()) / 2**32
            moments.append((began_seconds % 1.0, due_seconds))
            return True

        async def reconcile(_: str) -> bool:
            raise AssertionError("each of them is repeated")

        running = controller(reconcile, repeat=repeat, period_seconds=1.0)
        for number in range(2_000):
            running.enqueue(f"ns/{number}", uid=f"{number}")
        await run_for(running, 1.001)

    virtual_time.run(scenario())
    assert len(moments) >= 2_000
    assert len({round(began, 9) for began, _ in moments}) <= 1.0 / TOGETHER_SECONDS + 1
    assert all(0.0 <= (began - due) % 1.0 <= TOGETHER_SECONDS + 1e-9 for began, due in moments)
