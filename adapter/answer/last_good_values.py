"""The last good values of metrics whose contract may fall back on them, within one bound for all."""

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

from adapter.caches import LAST_GOOD_BYTES, SizedCache
from adapter.model import ExternalValue, ObjectValue

_ENTRY_BYTES: Final = 300
_VALUE_BYTES: Final = 420
"""What a row with two labels takes; the value of an object takes half."""

Value = TypeVar("Value", Mapping[str, ObjectValue], tuple[ExternalValue, ...])
Kept = SizedCache[tuple[object, str], Any]


def last_good_values(bytes_max: int = LAST_GOOD_BYTES) -> Kept:
    """What several `LastGoodValues` keep together."""
    return SizedCache(
        bytes_max, lambda key, values: _ENTRY_BYTES + len(key[1]) + _VALUE_BYTES * len(values)
    )


class LastGoodValues(Generic[Value]):
    """Values of one type; the least recently used of all types are dropped first."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def get(self, key: str, default: Value) -> Value:
        """What was kept, or `default`."""
        value: Value | None = self._kept.get((self, key))
        return default if value is None else value

    def keep(self, key: str, value: Value) -> None:
        """Keep it in place of the previous one."""
        self._kept.keep((self, key), value)
