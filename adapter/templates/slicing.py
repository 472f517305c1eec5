"""`slice`: a part of a text or list, after Go's text/template/funcs.go."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import overload

from adapter.templates.errors import TemplateExecutionError
from adapter.templates.value_types import NoValue, Record, Value, type_name

_INDEXES_MAX = 3


class PartOfList(Sequence[str]):
    """Elements `begin` to `end` of a list. As in Go, a part of it may reach up to `capacity`, behind its own end."""

    def __init__(self, elements: Sequence[str], begin: int, end: int, capacity: int) -> None:
        self.elements = elements
        self.begin = begin
        self.end = end
        self.capacity = capacity

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self.elements[self.begin : self.end][index]

    def __len__(self) -> int:
        return self.end - self.begin


def part(item: Value, *indexes: Value) -> Value:
    """`slice x 1 2` is `x[1:2]`; without indexes it is the whole. Raises `TemplateExecutionError`."""
    if isinstance(item, NoValue):
        raise _failed("slice of untyped nil")
    if len(indexes) > _INDEXES_MAX:
        raise _failed(f"too many slice indexes: {len(indexes)}")
    if isinstance(item, str):
        return _part_of_text(item, indexes)
    if isinstance(item, bool | int | float | Record | Mapping):
        raise _failed(f"can't slice item of type {type_name(item)}")
    return _part_of_list(item, indexes)


def _part_of_text(text: str, indexes: Sequence[Value]) -> str:
    if len(indexes) == _INDEXES_MAX:
        raise _failed("cannot 3-index slice a string")
    octets = text.encode()
    begin, end = _bounds(indexes, length=len(octets), capacity=len(octets))
    try:
        return octets[begin:end].decode()
    except UnicodeDecodeError:
        # Prometheus accepts only UTF-8, so this would fail there.
        raise _failed(f"{begin}:{end} cuts a character of {text!r}: indexes are bytes") from None


def _part_of_list(items: Sequence[str], indexes: Sequence[Value]) -> PartOfList:
    known = items if isinstance(items, PartOfList) else PartOfList(items, 0, len(items), len(items))
    space = known.capacity - known.begin
    begin, end, *limits = _bounds(indexes, length=len(known), capacity=space)
    last = limits[0] if limits else space
    return PartOfList(known.elements, known.begin + begin, known.begin + end, known.begin + last)


def _bounds(indexes: Sequence[Value], *, length: int, capacity: int) -> list[int]:
    """Begin and end, and with three indexes the new capacity; each is at most the next one."""
    bounds = [0, length]
    for at, index in enumerate(indexes):
        bounds[at : at + 1] = [_position(index, capacity)]
    for lower, upper in pairwise(bounds):
        if lower > upper:
            raise _failed(f"invalid slice index: {lower} > {upper}")
    return bounds


def _position(index: Value, capacity: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise _failed(f"cannot index slice/array with type {type_name(index)}")
    if not 0 <= index <= capacity:
        raise _failed(f"index out of range: {index}")
    return index


def _failed(problem: str) -> TemplateExecutionError:
    return TemplateExecutionError(f"error calling slice: {problem}")
