"""Template text to tokens. The parser knows which tokens may follow each other; the lexer does not.

After Go's text/template/parse/lex.go, with the delimiters prometheus-adapter uses.
"""

import enum
import re
from collections.abc import Iterator

import msgspec

from adapter.templates.errors import TemplateSyntaxError

LEFT, RIGHT = "<<", ">>"
_SPACE = " \t\r\n"


class Kind(enum.Enum):
    """Kinds of tokens; SPACE is one because it separates arguments."""

    TEXT = "text"
    LEFT = LEFT
    RIGHT = RIGHT
    SPACE = "space"
    IDENTIFIER = "identifier"
    FIELD = "field"
    VARIABLE = "variable"
    DOT = "dot"
    NUMBER = "number"
    CHARACTER = "character constant"
    STRING = "string"
    RAW_STRING = "raw string"
    DECLARE = ":="
    ASSIGN = "="
    PIPE = "|"
    COMMA = ","
    OPEN = "("
    CLOSE = ")"
    END = "end of the template"


class Token(msgspec.Struct, frozen=True):
    """A piece of the template, and the offset where it begins."""

    kind: Kind
    text: str
    offset: int


# Order matters: the first pattern that matches wins. A sign belongs to a number only where a digit follows.
_IN_ACTION = re.compile(
    r"""
    (?P<SPACE>[ \t\r\n]+)
  | (?P<STRING>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<RAW_STRING>`[^`]*`)
  | (?P<CHARACTER>'(?:[^'\\\n]|\\[^\n])+')
  | (?P<NUMBER>[+-]?(?:0[xX][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9_]+)?|0[bBoO][0-9_]+)\w*)
  | (?P<FIELD>\.\w+)
  | (?P<VARIABLE>\$\w*)
  | (?P<IDENTIFIER>\w+)
  | (?P<DOT>\.)
  | (?P<DECLARE>:=)
  | (?P<ASSIGN>=)
  | (?P<PIPE>\|)
  | (?P<COMMA>,)
  | (?P<OPEN>\()
  | (?P<CLOSE>\))
    """,
    re.VERBOSE,
)
_WORDS = {Kind.FIELD, Kind.VARIABLE, Kind.IDENTIFIER}
_AFTER_A_WORD = set(" \t\r\n.,|:()")  # no "=": `$x=1` is an error, as in Go


def tokens(text: str) -> Iterator[Token]:
    """All tokens of a template; raises `TemplateSyntaxError`. The last one is END."""
    offset = 0
    trim_next = False
    while True:
        start = text.find(LEFT, offset)
        copied = text[offset:] if start < 0 else text[offset:start]
        if trim_next:
            copied = copied.lstrip(_SPACE)
        if start >= 0 and _trims_left(text, start + len(LEFT)):
            copied = copied.rstrip(_SPACE)
        if copied:
            yield Token(Kind.TEXT, copied, offset)
        if start < 0:
            yield Token(Kind.END, "", len(text))
            return
        inside = start + len(LEFT) + (2 if _trims_left(text, start + len(LEFT)) else 0)
        if text.startswith("/*", inside):
            offset, trim_next = _skip_comment(text, start, inside)
            continue
        yield Token(Kind.LEFT, LEFT, start)
        for token in _action(text, inside):
            yield token
        offset = token.offset + len(token.text)
        trim_next = token.text != RIGHT


def _trims_left(text: str, offset: int) -> bool:
    """`<<- ` trims; `<<-3` is a negative number, so the space is part of the marker."""
    return text.startswith("-", offset) and text[offset + 1 : offset + 2] in tuple(_SPACE)


def _skip_comment(text: str, start: int, inside: int) -> tuple[int, bool]:
    end = text.find("*/", inside + 2)
    if end < 0:
        raise TemplateSyntaxError("unclosed comment", text=text, offset=start)
    end += 2
    closing = _closing(text, end)
    if not closing:
        raise TemplateSyntaxError("comment ends before closing delimiter", text=text, offset=start)
    return end + len(closing), closing != RIGHT


def _action(text: str, offset: int) -> Iterator[Token]:
    """The tokens up to the right delimiter, which is the last one; its text includes a trim marker, if any."""
    begin, depth = offset, 0
    while True:
        closing = _closing(text, offset)
        if closing and depth:
            raise TemplateSyntaxError("unclosed left paren", text=text, offset=offset)
        if closing:
            yield Token(Kind.RIGHT, closing, offset)
            return
        token = _next(text, offset, begin)
        depth += (token.kind is Kind.OPEN) - (token.kind is Kind.CLOSE)
        if depth < 0:
            raise TemplateSyntaxError("unexpected right paren", text=text, offset=offset)
        yield token
        offset += len(token.text)


def _closing(text: str, offset: int) -> str:
    """The right delimiter at this place, with its trim marker; or nothing."""
    if text.startswith(RIGHT, offset):
        return RIGHT
    if text[offset : offset + 1] in tuple(_SPACE) and text.startswith("-" + RIGHT, offset + 1):
        return text[offset : offset + 2 + len(RIGHT)]
    return ""


def _next(text: str, offset: int, begin: int) -> Token:
    if offset >= len(text):
        raise TemplateSyntaxError("unclosed action", text=text, offset=begin - len(LEFT))
    match = _IN_ACTION.match(text, offset)
    if match is None:
        raise TemplateSyntaxError(_why_not(text[offset]), text=text, offset=offset)
    kind = Kind[match.lastgroup or ""]
    found = match.group()
    if kind is Kind.SPACE and text.startswith("-" + RIGHT, offset + len(found)) and len(found) > 1:
        found = found[:-1]  # the last space belongs to the trim marker
    after = text[offset + len(found) : offset + len(found) + 1]
    ends = not after or after in _AFTER_A_WORD or text.startswith(RIGHT, offset + len(found))
    if kind in _WORDS and not ends:
        raise TemplateSyntaxError(
            f"bad character {after!r} after {found!r}", text=text, offset=offset
        )
    return Token(kind, found, offset)


def _why_not(character: str) -> str:
    kinds = {
        '"': "unterminated quoted string",
        "`": "unterminated raw quoted string",
        "'": "unterminated character constant",
    }
    return kinds.get(character, f"unexpected {character!r} in command")
