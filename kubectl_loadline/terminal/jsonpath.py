"""`-o jsonpath=TEMPLATE`, as for kubectl: text, `{EXPRESSION}`, and `{range EXPRESSION}...{end}`."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from kubectl_loadline.terminal.jsonpath_expression import (
    QUOTED,
    InvalidTemplate,
    Json,
    Step,
    found,
    parsed_expression,
)

_PART: Final = re.compile(
    rf"""(?P<text>[^{{]+) | \{{ [ ]* (?P<action> (?:{QUOTED}|[^{{}}"'\n])* ) \}}""", re.VERBOSE
)
_RANGE: Final = re.compile(r"range(?=[\s.\[@$])(?P<expression>.*)")
_END: Final = "end"


class _Range(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...]
    body: "tuple[_Node, ...]"


_Node = str | tuple[Step, ...] | _Range


class Template:
    """A template that was parsed once."""

    def __init__(self, text: str) -> None:
        """Raises `InvalidTemplate`."""
        self._nodes = tuple(_nodes(_parts(text), in_range=False))

    def rendered(self, document: Json) -> str:
        """The text for a document. Raises `InvalidTemplate` for an index that the document does not have."""
        return "".join(_rendered(self._nodes, document))


def _parts(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise InvalidTemplate(f"{text[position:]!r} is not closed by a brace")
        yield part
        position = part.end()


def _nodes(parts: Iterator[re.Match[str]], *, in_range: bool) -> Iterator[_Node]:
    """Until the `end` of the range, or the end of the template, which ends all ranges."""
    for part in parts:
        action = (part["action"] or "").strip()
        of_range = _RANGE.fullmatch(action)
        if part["text"] is not None:
            yield part["text"]
        elif of_range:
            steps = parsed_expression(of_range["expression"])
            yield _Range(steps, tuple(_nodes(parts, in_range=True)))
        elif action == _END:
            if not in_range:
                raise InvalidTemplate("{end} without {range ...}")
            return
        else:
            yield parsed_expression(action)


def _rendered(nodes: tuple[_Node, ...], value: Json) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif isinstance(node, _Range):
            for each in found(node.steps, value):
                yield from _rendered(node.body, each)
        else:
            yield " ".join(map(_shown, found(node, value)))


def _shown(value: Json) -> str:
    """Texts without quotes, and whole numbers without a decimal point."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return msgspec.json.encode(value).decode()
