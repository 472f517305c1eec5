"""The last good values of metrics whose contract may fall back on them, within a bound that fits 50,000 autoscalers."""

from typing import Final, Generic, TypeVar

from cachetools import LRUCache

VALUES_MAX: Final = 200_000

Value = TypeVar("Value")


class LastGoodValues(Generic[Value]):
    """The last good values of metrics whose contract may fall back on them; the least recently used are dropped first."""

    def __init__(self) -> None:
        self._values: LRUCache[str, Value] = LRUCache(VALUES_MAX)

    def get(self, key: str, default: Value) -> Value:
        """What was kept, or `default`."""
        value = self._values.get(key)
        return default if value is None else value

    def keep(self, key: str, value: Value) -> None:
        """Keep it in place of the previous one."""
        self._values[key] = value
