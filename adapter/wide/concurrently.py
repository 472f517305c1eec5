"""Awaiting several things at once, at no cost for one of them."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. A single one is awaited without a task, which would cost more than a fresh result."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines)
