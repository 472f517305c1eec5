"""Coroutines that run side by side until one of them ends."""

import asyncio
from collections.abc import Coroutine


async def first_of(*coroutines: Coroutine[object, object, object]) -> None:
    """Run all of them until one ends, and cancel the others. Raises what it raises."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
