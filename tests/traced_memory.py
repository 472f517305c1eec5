"""How much memory a test allocates, whatever ran before it."""

import contextlib
import tracemalloc
from collections.abc import Iterator

# CPython keeps this many freed tuples of each of these lengths, and gives them out again without an allocation.
FREE_TUPLES_MAX = 2_000
FREE_TUPLE_LENGTHS = range(1, 21)


class TracedMemory:
    """What was allocated since the beginning of `traced_memory`."""

    @property
    def kept_bytes(self) -> int:
        """Of what has not been freed."""
        return tracemalloc.get_traced_memory()[0]

    @property
    def peak_bytes(self) -> int:
        """The most at any time."""
        return tracemalloc.get_traced_memory()[1]


@contextlib.contextmanager
def traced_memory() -> Iterator[TracedMemory]:
    """Trace allocations. No freed tuple is at hand meanwhile, which would not be counted."""
    taken = [
        tuple([None] * length) for length in FREE_TUPLE_LENGTHS for _ in range(FREE_TUPLES_MAX)
    ]
    tracemalloc.start()
    try:
        yield TracedMemory()
    finally:
        tracemalloc.stop()
        del taken
