"""PURE: JSON that Go's encoding/json reads and msgspec refuses, in a form that msgspec reads.

| JSON | becomes |
|---|---|
| a list or an object on a level below `LEVELS_MAX` | `null`. Go reads 10,000 levels, msgspec as many as Python's stack has, about 1,000 |
| half of a surrogate pair, such as `\\ud800` | U+FFFD, as in Go |
| bytes that are not UTF-8 | U+FFFD for each, as in Go |

msgspec refuses the whole document for them, also within a part that it skips. kube-apiserver passes the content of `managedFields` on as a user
has written it, so one object could make all lists and watches of its kind unreadable. No field that is read is on such a level.
"""

import re
from typing import Final

LEVELS_MAX: Final = 200

# Up to the next bracket that is not in a string, or to the end. It matches everywhere, also in what is not JSON: the time is linear.
_TO_BRACKET: Final = re.compile(
    rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"?)*+([\[\]{}]|\Z)', re.DOTALL
)
_NOT_UTF_8: Final = re.compile("[\udc80-\udcff]")
"""How `surrogateescape` decodes such bytes."""
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# And a backslash that is escaped, as it begins no other escape. Large documents have very many escapes.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD](?:[89abAB]..\\u[dD][c-fC-F]..|(?P<half>[89a-fA-F]..))|\\)", re.DOTALL
)


def with_whole_characters(body: bytes) -> bytes:
    """The document with U+FFFD as in that form, on any level. What is not JSON may become anything that is not JSON either, or JSON."""
    text = body if body.isascii() else _as_utf_8(body)
    return _ESCAPE.sub(_with_whole_pairs, text) if _SURROGATE.search(text) else text


def _as_utf_8(body: bytes) -> bytes:
    """Go replaces each byte that is not part of UTF-8. With "replace", Python replaces a sequence of them."""
    return _NOT_UTF_8.sub("\ufffd", body.decode("utf-8", "surrogateescape")).encode()


def _with_whole_pairs(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape["half"] else escape[0]


def shallow(body: bytes, *, levels_max: int = LEVELS_MAX) -> bytes:
    """The document with `null` as in that form. It takes much longer than the other. Without recursion, as nothing limits the levels."""
    kept: list[bytes] = []
    level = begin = 0
    for match in _TO_BRACKET.finditer(body):
        bracket = match[1]
        if bracket in (b"{", b"["):
            level += 1
            if level == levels_max + 1:
                kept += (body[begin : match.end() - 1], b"null")
        elif bracket:
            if level == levels_max + 1:
                begin = match.end()
            level -= 1
    if level <= levels_max:
        kept.append(body[begin:])
    return b"".join(kept)
