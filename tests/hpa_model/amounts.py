"""Quantities, times and durations, as they are written in Kubernetes objects."""

import datetime
import math
import re
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([a-zA-Z]*))")
_DURATION = re.compile(r"([0-9.]+)(ms|h|m|s)")
_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}  # fmt: skip
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
# Above that, integers of 64 bits overflow in sums and products.
_MILLI_MAX = 10**14
# The same texts appear in every reconcile of a run: reading them again was two fifths of a simulated seed with shards.
_TEXTS_MAX = 4096


class OutsideOfTheModel(Exception):
    """The model does not cover an input: it has no overflows, for example."""


def amount(text: str) -> Fraction:
    """The exact value of a quantity. Raises ValueError."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = found.groups()
    return Fraction(number) * (
        Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    )


@lru_cache(maxsize=_TEXTS_MAX)
def milli(text: str) -> int:
    """A quantity in thousandths, rounded away from zero. Raises ValueError and OutsideOfTheModel."""
    exact = amount(text) * 1000
    rounded = math.ceil(exact) if exact > 0 else math.floor(exact)
    if abs(rounded) > _MILLI_MAX:
        raise OutsideOfTheModel(f"{text} may overflow")
    return rounded


@lru_cache(maxsize=_TEXTS_MAX)
def unix_seconds(text: str) -> float:
    """A time of RFC 3339."""
    return datetime.datetime.fromisoformat(text).timestamp()


@lru_cache(maxsize=_TEXTS_MAX)
def duration_seconds(text: str) -> float:
    """A duration as Go writes it, 1m30s for example."""
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
