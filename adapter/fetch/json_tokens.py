"""Where a list of objects can be divided while it is read: at tokens of JSON, which may have white space between them."""

import re
from collections.abc import Iterator
from typing import Final

WHITE_SPACE_MAX: Final = 64
"""Between two tokens of JSON. With more of it, which no encoder writes, a list is not divided."""


class Tokens:
    """Some tokens of JSON: as Prometheus writes them, and with white space between them."""

    def __init__(self, *tokens: bytes) -> None:
        gap = b"[ \\t\\r\\n]{0,%d}+" % WHITE_SPACE_MAX
        self._compact: Final = b"".join(tokens)
        self._spaced: Final = re.compile(gap.join(map(re.escape, tokens)))
        self.bytes_max: Final = len(self._compact) + WHITE_SPACE_MAX * (len(tokens) - 1)

    def end(self, text: bytearray, end: int) -> int:
        """Where they end first, before `end`; -1 if they are not there."""
        if (at := text.find(self._compact, 0, end)) >= 0:
            return at + len(self._compact)
        found = self._spaced.search(text, 0, end)
        return found.end() if found else -1

    def spans(self, text: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where they begin and end, the last ones first. Those without white space come before the others: to find them is quicker."""
        compact_end = end
        while (at := text.rfind(self._compact, start, compact_end)) >= 0:
            yield at, at + len(self._compact)
            compact_end = at + len(self._compact) - 1
        yield from reversed([each.span() for each in self._spaced.finditer(text, start, end)])


def cut(rest: bytearray, at: int) -> bytes:
    """Remove the objects of a list until the first brace that closes at `at` or later, with the comma behind it, and return them as a list."""
    end = rest.index(b"}", at) + 1
    objects = b"[" + rest[:end] + b"]"
    del rest[: rest.index(b"{", end)]
    return objects
