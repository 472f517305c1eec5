"""What texts take in memory."""

import sys
from typing import Final

_EMPTY_BYTES: Final = sys.getsizeof("")


def text_bytes(text: str) -> int:
    """What the characters of a text take: one to four bytes each, as the widest of them needs."""
    return sys.getsizeof(text) - _EMPTY_BYTES
