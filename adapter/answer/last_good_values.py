"""The last good values of metrics whose contract may fall back on them, within one bound for all."""

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

from adapter.caches import LAST_GOOD_BYTES, SizedCache
from adapter.model import ExternalValue, ObjectValue
from wire.process.text_bytes import text_bytes

_ENTRY_BYTES: Final = 260
_OBJECT_BYTES: Final = 240
_ROW_BYTES: Final = 210
_LABEL_BYTES: Final = 120
"""What the value of an object takes, a row, and each of its labels beside its texts."""

Value = TypeVar("Value", Mapping[str, ObjectValue], tuple[ExternalValue, ...])
Kept = SizedCache[tuple[object, str], Any]


def last_good_values(bytes_max: int = LAST_GOOD_BYTES) -> Kept:
    """What several `LastGoodValues` keep together."""
    return SizedCache(bytes_max, _size_bytes)


class LastGoodValues(Generic[Value]):
    """Values of one type; the least recently used of all types are dropped first."""

    def __init__(self, kept: Kept, none: Value) -> None:
        """`none`: what is returned for a key of which nothing is kept."""
        self._kept = kept
        self._none: Value = none

    def get(self, key: str) -> Value:
        """What was kept, or nothing good."""
        found: Value | None = self._kept.get((self, key)) if key else None
        return self._none if found is None else found

    def keep(self, key: str, values: Value) -> None:
        """Keep them in place of the previous ones."""
        self._kept.keep((self, key), values)


def _size_bytes(key: tuple[object, str], values: Any) -> int:
    is_of_objects = isinstance(values, Mapping)
    of_values = _OBJECT_BYTES * len(values) if is_of_objects else sum(map(_row_bytes, values))
    return _ENTRY_BYTES + text_bytes(key[1]) + of_values


def _row_bytes(row: ExternalValue) -> int:
    labels = row.labels or {}
    texts = sum(text_bytes(name) + text_bytes(value) for name, value in labels.items())
    return _ROW_BYTES + _LABEL_BYTES * len(labels) + texts
