"""Large responses of the metrics APIs, in parts: everything else that the event loop does goes on between them.

A response of 12 MB with 100,000 series takes about a second, and everyone who may create series decides how many there
are. Meanwhile a Lease would not be renewed, and no probe be answered.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from scaler.algorithm import samples
from scaler.algorithm.readings import Reading
from wire.api import kube_json

T = TypeVar("T")

# The metrics of 600 pods, which take about 10 ms.
UNDIVIDED_BYTES_MAX: Final = 2**18
PART_BYTES: Final = 2**17


async def decoded(body: bytes, decode: Callable[[bytes], T]) -> tuple[T, ...]:
    """The response; if it is large, as several lists with some of its items each. Raises `msgspec.DecodeError`."""
    if len(body) <= UNDIVIDED_BYTES_MAX:
        return (decode(body),)
    found = []
    for part in kube_json.split(body, PART_BYTES):
        found.append(decode(part))
        await asyncio.sleep(0)
    return tuple(found)


async def reading_of(parts: Sequence[T], read: Callable[[T], Reading]) -> Reading:
    """The reading of the whole response; `read` is that of a list."""
    if len(parts) == 1:
        return read(parts[0])
    found = []
    for part in parts:
        found.append(read(part))
        await asyncio.sleep(0)
    return samples.joined(found)
