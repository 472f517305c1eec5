"""The last good values of metrics whose contract may fall back on them, within one bound for all."""

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

from adapter.caches import LAST_GOOD_BYTES, SizedCache
from adapter.model import ExternalValue, ObjectValue

_ENTRY_BYTES: Final = 300
_OBJECT_BYTES: Final = 210
_ROW_BYTES: Final = 420
"""What the value of an object takes, and a row with two labels."""

Value = TypeVar("Value", Mapping[str, ObjectValue], tuple[ExternalValue, ...])
Kept = SizedCache[tuple[object, str], Any]


def last_good_values(bytes_max: int = LAST_GOOD_BYTES) -> Kept:
    """What several `LastGoodValues` keep together."""
    return SizedCache(bytes_max, _size_bytes)


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


def _size_bytes(key: tuple[object, str], values: Any) -> int:
    each_bytes = _OBJECT_BYTES if isinstance(values, Mapping) else _ROW_BYTES
    return _ENTRY_BYTES + len(key[1]) + each_bytes * len(values)
