"""The times in what is remembered: every field whose name ends with `_unix_seconds`, so that none can be forgotten."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

Found = TypeVar("Found")
Change = Callable[[float], float]


def shifted_times(found: Found, seconds: float) -> Found:
    """The same ages, on a wall clock that was stepped by so much."""
    changed: Found = _within(found, lambda at: at + seconds)
    return changed


def past_times(found: Found, now_unix_seconds: float) -> Found:
    """A time of the future, by another process' clock that was ahead, is now."""
    changed: Found = _within(found, lambda at: min(at, now_unix_seconds))
    return changed


def _within(found: Any, change: Change) -> Any:
    """Structs and tuples; the states of extensions are in a mapping, and each extension changes its own."""
    if isinstance(found, tuple):
        return tuple(_within(each, change) for each in found)
    if not isinstance(found, msgspec.Struct):
        return found
    changes = {}
    for name in found.__struct_fields__:
        value = getattr(found, name)
        after = (_changed if name.endswith("_unix_seconds") else _within)(value, change)
        if after is not value:
            changes[name] = after
    return msgspec.structs.replace(found, **changes) if changes else found


def _changed(value: Any, change: Change) -> Any:
    """One time, or None for never, or several of them."""
    if isinstance(value, tuple):
        return tuple(_changed(each, change) for each in value)
    return None if value is None else change(value)
