"""Coroutines that run side by side until one of them ends."""

import asyncio
from collections.abc import Coroutine

from wire.process.background_tasks import ended


async def first_of(*coroutines: Coroutine[object, object, object]) -> None:
    """Run all of them until one ends, and cancel the others. Raises what it raises, or another one as it ends, when all have ended."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        if await ended(*tasks):
            raise asyncio.CancelledError
    for each in tasks:
        if not each.cancelled():
            each.result()
