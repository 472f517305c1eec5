"""`html`, `js` and `urlquery`: the printed arguments, escaped as Go's text/template/funcs.go does."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote_plus

from adapter.templates.formatting import sprint
from adapter.templates.value_types import NoValue, Value, printed

_HTML: Final = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_JS: Final = {"\\": r"\\", "'": r"\'", '"': r"\""}
_JS_AS_NUMBER: Final = frozenset("<>&=")


def html(*values: Value) -> str:
    """Escaped for the text and attributes of HTML."""
    return _text(values).translate(_HTML)


def js(*values: Value) -> str:
    """Escaped for a string of JavaScript."""
    return "".join(map(_in_javascript, _text(values)))


def urlquery(*values: Value) -> str:
    """Escaped for the query of a URL: a space is `+`."""
    return quote_plus(_text(values), safe="")


def _text(values: Sequence[Value]) -> str:
    """`evalArgs` of Go: unlike for `print`, a missing value is `<no value>`."""
    return sprint([printed(value) if isinstance(value, NoValue) else value for value in values])


def _in_javascript(character: str) -> str:
    escape = _JS.get(character)
    if escape:
        return escape
    code = ord(character)
    is_printed = character.isprintable() if code >= 0x80 else code >= 0x20
    if is_printed and character not in _JS_AS_NUMBER:
        return character
    return f"\\u{code:04X}"
