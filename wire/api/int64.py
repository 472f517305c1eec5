"""Go's numbers where they differ from Python's: integers that wrap around, powers of ten that are not the nearest.

Behaviour as compiled for amd64, where the HPA controller mostly runs.
"""

import re
from typing import Final

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)


def fits_int64(number: int) -> bool:
    """True when Go can hold the number in an int64."""
    return INT64_MIN <= number <= INT64_MAX


def parse_int64(text: str) -> int | None:
    """What Go's ParseInt reads as an int64; None for what it does not."""
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
        return None
    number = int(text)
    return number if fits_int64(number) else None


def wrap(number: int, *, bits: int) -> int:
    """The number as Go keeps it in a signed integer of so many bits."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def ten_to(exponent: int) -> int:
    """10**exponent for an exponent of zero or more."""
    return int(10**exponent)


def float_ten_to(exponent: int) -> float:
    """Go's math.Pow10: the product (or quotient) of two table entries, not always the nearest float."""
    if exponent < -323:
        return 0.0
    if exponent > 308:
        return float("inf")
    thirties, rest = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{thirties * 32}") * float(f"1e{rest}")
    return float(f"1e-{thirties * 32}") / float(f"1e{rest}")
