"""One expression of a JSONPath template: `.autoscalers[?(@.kind=="hpa")].name`.

The language is that of kubectl (client-go, util/jsonpath), which is older than RFC 9535 and differs from it: a missing field
has no result, `$` and `@` are both the present object, and a name in brackets may be a path. The libraries on PyPI have the
language of the RFC or one of their own, none has this one, so it is here: what users know from kubectl has to work.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

Json = Any
Step = Callable[[Sequence[Json]], list[Json]]
"""From the values that were found so far to the next ones."""

FIELD: Final = r"(?:\\.|[^\s.,\[\]$@{}\\])+"
QUOTED: Final = r"""(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_TOKEN: Final = re.compile(
    rf"""
      (?P<here> [@$ \t]+ )
    | (?P<descent> \.\.(?P<below>{FIELD})? )
    | \.(?P<field> {FIELD} )
    | (?P<whole> \. )
    | \[\?\( (?P<filter> (?:{QUOTED}|[^"')\n])* ) \)\]
    | \[ (?P<items> (?:{QUOTED}|[^\]"'\n])* ) \]
    | (?P<text> {QUOTED} )
    | (?P<number> [+-]?\d[\d.]* )
    | (?P<word> {FIELD} )
    """,
    re.VERBOSE,
)
_SLICE: Final = re.compile(r"(?P<start>-?\d*)(?P<end>:-?\d*)?(?P<step>:-?\d*)?")
_COMPARISON: Final = re.compile(r"(?P<left>[^!<>=]+)(?P<operator>[!<>=]+)(?P<right>.+)")
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


class InvalidTemplate(ValueError):
    """The template is not valid, or the document does not have what it indexes; the message says which part."""


def parsed_expression(text: str) -> tuple[Step, ...]:
    """The steps of an expression. Raises `InvalidTemplate`."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise InvalidTemplate(f"unexpected {text[position:]!r} in {{{text}}}")
        steps += _steps(token)
        position = token.end()
    return tuple(steps)


def found(steps: Sequence[Step], value: Json) -> list[Json]:
    """What an expression finds in a value. Raises `InvalidTemplate`."""
    values = [value]
    for step in steps:
        values = step(values)
    return values


def _steps(token: re.Match[str]) -> Iterator[Step]:
    given = token.group
    if given("descent"):
        yield _descent
    name = given("field") or given("below")
    if name:
        yield _all_values if name == "*" else partial(_field, re.sub(r"\\(.)", r"\1", name))
    elif given("filter") is not None:
        yield _filter(given("filter"))
    elif given("items") is not None:
        yield _items(given("items").strip())
    elif given("text"):
        yield partial(_constant, unquoted(given("text")))
    elif given("number"):
        yield partial(_constant, _number(given("number")))
    elif given("word"):
        yield partial(_constant, _boolean(given("word")))


def _constant(value: Json, _: Sequence[Json]) -> list[Json]:
    return [value]


def _field(name: str, values: Sequence[Json]) -> list[Json]:
    return [each[name] for each in values if isinstance(each, dict) and name in each]


def _all_values(values: Sequence[Json]) -> list[Json]:
    return [child for each in values for child in _children(each)]


def _descent(values: Sequence[Json]) -> list[Json]:
    """Every object and list that is not empty, each before what is in it."""
    result: list[Json] = []
    for each in values:
        if children := _children(each):
            result += [each, *_descent(children)]
    return result


def _children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _items(text: str) -> Step:
    """`[0]`, `[-1]`, `[0:3]`, `[*]`, `['name']`, and several of them with commas."""
    parts = text.split(",")
    if len(parts) > 1:
        steps = [_items(part.strip()) for part in parts]
        return lambda values: [each for step in steps for each in step(values)]
    if re.fullmatch("'[^']*'", text):
        path = parsed_expression(f".{text[1:-1]}")
        return lambda values: [each for value in values for each in found(path, value)]
    indexes = _SLICE.fullmatch(":" if text == "*" else text)
    if indexes is None or not text:
        raise InvalidTemplate(f"[{text}] is not an index such as [0], [0:3], [*] or ['name']")
    return partial(_sliced, text, indexes)


def _sliced(text: str, indexes: re.Match[str], values: Sequence[Json]) -> list[Json]:
    result: list[Json] = []
    for each in values:
        if each is None:
            continue
        if not isinstance(each, list):
            raise InvalidTemplate(f"[{text}] applies only to a list, but this is {_kind(each)}")
        start, end, step = _bounds(indexes, len(each))
        if start == end:
            continue
        if not (0 <= start < len(each) and start <= end <= len(each)):
            raise InvalidTemplate(f"[{text}] is out of range for a list of length {len(each)}")
        if step <= 0:
            raise InvalidTemplate(f"the step of [{text}] must be greater than 0")
        result += each[start:end:step]
    return result


def _bounds(indexes: re.Match[str], length: int) -> tuple[int, int, int]:
    """Start, end and step; negative indexes count from the end."""

    def number(name: str, absent: int) -> int:
        digits = (indexes[name] or "").removeprefix(":")
        return int(digits) if digits else absent

    start = number("start", 0)
    start += length if start < 0 else 0
    if indexes["end"] is None:
        return start, start + 1, 1
    end = number("end", length)
    return start, end + length if end < 0 else end, number("step", 1)


def _filter(text: str) -> Step:
    """`?(@.name)`: those for which it has a result; `?(@.name=="web")`: those for which it is true."""
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None:
        exists = parsed_expression(text)
        return lambda values: [each for each in _filtered(values) if found(exists, each)]
    compare = _OPERATORS.get(comparison["operator"])
    if compare is None:
        raise InvalidTemplate(f"{comparison['operator']} in ({text}) is not a comparison operator")
    left, right = parsed_expression(comparison["left"]), parsed_expression(comparison["right"])

    def passes(value: Json) -> bool:
        return _compared(compare, found(left, value), found(right, value), text)

    return lambda values: [each for each in _filtered(values) if passes(each)]


def _filtered(values: Sequence[Json]) -> Iterator[Json]:
    for each in values:
        if not isinstance(each, list):
            raise InvalidTemplate(f"a filter applies only to a list, but this is {_kind(each)}")
        yield from each


def _compared(
    compare: Callable[[Any, Any], bool], left: Sequence[Json], right: Sequence[Json], text: str
) -> bool:
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1:
        raise InvalidTemplate(f"({text}) compares more than one value")
    if _kind(left[0]) != _kind(right[0]) or isinstance(left[0], dict | list):
        raise InvalidTemplate(f"({text}) compares {_kind(left[0])} with {_kind(right[0])}")
    return compare(left[0], right[0])


def _kind(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "a boolean"
    names = ((str, "a string"), (dict, "an object"), (list, "a list"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


def unquoted(text: str) -> str:
    """The text of a literal in double or single quotes."""
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), text[1:-1])


def _number(text: str) -> float:
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise InvalidTemplate(f"{text} is not a number") from None


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise InvalidTemplate(f"a field begins with a dot: {{.{text}}} instead of {{{text}}}")
    return text == "true"
