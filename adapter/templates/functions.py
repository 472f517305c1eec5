"""The built-in functions of a template, after Go's text/template/funcs.go.

`and` and `or` are only declared here: the evaluator stops at the argument that decides.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapter.templates.errors import TemplateExecutionError
from adapter.templates.escaping import html, js, urlquery
from adapter.templates.formatting import sprint, sprintf
from adapter.templates.slicing import part
from adapter.templates.value_types import (
    NoValue,
    Record,
    Value,
    printed,
    truth,
    type_name,
)


class Builtin(msgspec.Struct, frozen=True):
    """A function and how many arguments it takes; `most` is None when there is no limit."""

    call: Callable[..., Value]
    least: int
    most: int | None = None


def _index(item: Value, *indexes: Value) -> Value:
    for index in indexes:
        item = _element(item, index)
    return item


def _element(item: Value, index: Value) -> Value:
    match item:
        case NoValue():
            raise TemplateExecutionError("error calling index: index of untyped nil")
        case Mapping():
            if not isinstance(index, str):
                raise TemplateExecutionError(
                    f"error calling index: value has type {type_name(index)}; should be string"
                )
            return item.get(index, "")
        case str():
            return item.encode()[_position(index, _length(item))]
        case bool() | int() | float() | Record():
            raise TemplateExecutionError(
                f"error calling index: can't index item of type {type_name(item)}"
            )
    return item[_position(index, len(item))]


def _position(index: Value, length: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise TemplateExecutionError(
            f"error calling index: cannot index slice/array with type {type_name(index)}"
        )
    if not 0 <= index < length:
        raise TemplateExecutionError(f"error calling index: index out of range: {index}")
    return index


def _length(item: Value) -> int:
    match item:
        case str():
            return len(item.encode())
        case bool() | int() | float() | Record() | NoValue():
            raise TemplateExecutionError(f"error calling len: len of type {type_name(item)}")
    return len(item)


def _not(value: Value) -> bool:
    return not truth(value)


def _eq(first: Value, *others: Value) -> bool:
    """True when the first equals any of the others."""
    if not others:
        raise TemplateExecutionError("error calling eq: missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(a: Value, b: Value) -> bool:
    if isinstance(a, NoValue) or isinstance(b, NoValue):
        return isinstance(a, NoValue) and isinstance(b, NoValue)
    if type_name(a) != type_name(b):
        raise TemplateExecutionError(
            f"error calling eq: incompatible types for comparison: {type_name(a)} and {type_name(b)}"
        )
    if isinstance(a, str | bool | int | float):
        return a == b
    raise TemplateExecutionError(f"error calling eq: non-comparable type {type_name(a)}")


def _ne(a: Value, b: Value) -> bool:
    return not _equal(a, b)


def _lt(a: Value, b: Value) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        raise TemplateExecutionError("error calling lt: invalid type for comparison")
    if isinstance(a, str) and isinstance(b, str):
        return a < b  # by code points, which is Go's order of UTF-8 bytes
    if isinstance(a, str | int | float) and isinstance(b, str | int | float):
        if isinstance(a, str) or isinstance(b, str) or type(a) is not type(b):
            raise TemplateExecutionError(
                f"error calling lt: incompatible types for comparison: {type_name(a)} and {type_name(b)}"
            )
        return a < b
    raise TemplateExecutionError("error calling lt: invalid type for comparison")


def _le(a: Value, b: Value) -> bool:
    return _lt(a, b) or _equal(a, b)


def _printf(form: Value, *arguments: Value) -> str:
    if not isinstance(form, str):
        raise TemplateExecutionError(
            f"wrong type for value; expected string; got {type_name(form)}"
        )
    return sprintf(form, arguments)


def _print(*arguments: Value) -> str:
    return sprint(arguments)


def _println(*arguments: Value) -> str:
    return " ".join(sprint([each]) for each in arguments) + "\n"


def _call(function: Value, *_: Value) -> Value:
    """Always an error: no value of a template is a function."""
    if isinstance(function, NoValue):
        raise TemplateExecutionError("error calling call: call of nil")
    raise TemplateExecutionError(
        f"error calling call: {printed(function)!r} of type {type_name(function)} is not a function"
    )


def _decided_by_the_evaluator(*arguments: Sequence[Value]) -> Value:
    raise AssertionError(f"and/or evaluate their arguments one by one, not {arguments!r}")


BUILTINS: Mapping[str, Builtin] = {
    "and": Builtin(_decided_by_the_evaluator, 1),
    "or": Builtin(_decided_by_the_evaluator, 1),
    "not": Builtin(_not, 1, 1),
    "len": Builtin(_length, 1, 1),
    "index": Builtin(_index, 1),
    "eq": Builtin(_eq, 1),
    "ne": Builtin(_ne, 2, 2),
    "lt": Builtin(_lt, 2, 2),
    "le": Builtin(_le, 2, 2),
    "gt": Builtin(lambda a, b: not _le(a, b), 2, 2),
    "ge": Builtin(lambda a, b: not _lt(a, b), 2, 2),
    "print": Builtin(_print, 0),
    "printf": Builtin(_printf, 1),
    "println": Builtin(_println, 0),
    "slice": Builtin(part, 1),
    "html": Builtin(html, 0),
    "js": Builtin(js, 0),
    "urlquery": Builtin(urlquery, 0),
    "call": Builtin(_call, 1),
}
"""By name: all that Go has."""
