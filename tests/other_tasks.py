"""Whether other tasks go on while something is awaited that takes long."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def turns_during(work: Awaitable[T]) -> tuple[T, int]:
    """The result, and how often another task had its turn meanwhile."""
    turns = 0

    async def go_on() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(go_on())
    try:
        return await work, turns
    finally:
        other.cancel()
