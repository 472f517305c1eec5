"""`print` and `printf` as Go's fmt does them, for the values a template has.

Supported: the verbs v s q d x X o b c U t e f g T %, the flags `+ - # 0` and space, width and precision. Refused: `*`,
explicit argument indexes, and Go-syntax printing (`%#v`). A verb that does not fit its value prints Go's own complaint,
`%!d(string=web)`.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from adapter.templates.errors import TemplateExecutionError
from adapter.templates.value_types import (
    NoValue,
    Record,
    Value,
    float_text,
    printed,
    type_name,
)
from wire.api.quoting import go_quote

_VERB = re.compile(r"%([+\-# 0]*)(\d*)(?:\.(\d*))?(.)?", re.DOTALL)
_SIZE_MAX = 10_000  # so that a width cannot fill the memory


class _Form(msgspec.Struct, frozen=True):
    """One `%...` of a format."""

    flags: str
    width: int
    precision: int | None
    verb: str


def sprint(values: Sequence[Value]) -> str:
    """`fmt.Sprint`: a space between two adjacent values when neither is a string."""
    out: list[str] = []
    for at, value in enumerate(values):
        if at and not isinstance(value, str) and not isinstance(values[at - 1], str):
            out.append(" ")
        out.append("<nil>" if isinstance(value, NoValue) else printed(value))
    return "".join(out)


def sprintf(text: str, values: Sequence[Value]) -> str:
    """`fmt.Sprintf`."""
    out: list[str] = []
    at, used = 0, 0
    for match in _VERB.finditer(text):
        out.append(text[at : match.start()])
        at = match.end()
        flags, width, precision, verb = match.groups()
        if verb is None:
            out.append("%!(NOVERB)")
        elif verb == "%":
            out.append("%")
        elif verb in "*[":
            raise TemplateExecutionError(
                f"printf: {verb!r} in a format is not supported: write the width or order out"
            )
        elif used >= len(values):
            out.append(f"%!{verb}(MISSING)")
        else:
            form = _Form(flags, _size(width), None if precision is None else _size(precision), verb)
            out.append(_formatted(form, values[used]))
            used += 1
    out.append(text[at:])
    if used < len(values):
        extra = ", ".join(
            "<nil>" if isinstance(v, NoValue) else f"{type_name(v)}={printed(v)}"
            for v in values[used:]
        )
        out.append(f"%!(EXTRA {extra})")
    return "".join(out)


def _size(text: str) -> int:
    size = int(text or 0)
    if size > _SIZE_MAX:
        raise TemplateExecutionError(
            f"printf: a width or precision of {size} is more than {_SIZE_MAX}"
        )
    return size


def _formatted(form: _Form, value: Value) -> str:
    if form.verb == "T":
        return _padded(form, type_name(value))
    if "#" in form.flags and form.verb in "vq":
        raise TemplateExecutionError(f"printf: %#{form.verb} is not supported")
    match value:
        case NoValue():
            return _padded(form, "<nil>") if form.verb == "v" else f"%!{form.verb}(<nil>)"
        case Record(fields):
            return "{" + " ".join(_formatted(form, each) for each in fields.values()) + "}"
        case Mapping():
            pairs = (
                f"{_formatted(form, key)}:{_formatted(form, value[key])}" for key in sorted(value)
            )
            return "map[" + " ".join(pairs) + "]"
        case str():
            return _string(form, value)
        case bool():
            return _padded(form, printed(value)) if form.verb in "tv" else _misfit(form, value)
        case int():
            return _integer(form, value)
        case float():
            return _float(form, value)
    return "[" + " ".join(_formatted(form, each) for each in value) + "]"


def _misfit(form: _Form, value: Value) -> str:
    return f"%!{form.verb}({type_name(value)}={printed(value)})"


def _padded(form: _Form, text: str) -> str:
    return text.ljust(form.width) if "-" in form.flags else text.rjust(form.width)


def _string(form: _Form, value: str) -> str:
    cut = value if form.precision is None else value[: form.precision]
    match form.verb:
        case "v" | "s":
            return _padded(form, cut)
        case "q":
            return _padded(form, go_quote(cut))
        case "x" | "X":
            return _padded(form, _hexadecimal(form, value))
    return _misfit(form, value)


def _hexadecimal(form: _Form, value: str) -> str:
    octets = value.encode()[: form.precision]
    prefix = "0x" if "#" in form.flags else ""
    if " " in form.flags:
        text = " ".join(f"{prefix}{octet:02x}" for octet in octets)
    else:
        text = (prefix if octets else "") + octets.hex()
    return text.upper() if form.verb == "X" else text


def _integer(form: _Form, value: int) -> str:
    match form.verb:
        case "v" | "d":
            return _number(form, value, str(abs(value)))
        case "x" | "X" | "o" | "b":
            digits = format(abs(value), form.verb)
            prefix = (
                {"x": "0x", "X": "0X", "o": "0", "b": "0b"}[form.verb] if "#" in form.flags else ""
            )
            return _number(form, value, digits, prefix)
        case "c":
            return _padded(form, _character(value))
        case "U":
            return _padded(form, f"U+{value:04X}")
        case "q":
            return _padded(form, "'" + _quoted_character(value) + "'")
    return _misfit(form, value)


def _character(code_point: int) -> str:
    usable = 0 <= code_point <= 0x10FFFF and not 0xD800 <= code_point < 0xE000
    return chr(code_point) if usable else "\ufffd"


def _quoted_character(code_point: int) -> str:
    character = _character(code_point)
    return {"'": r"\'", '"': '"'}.get(character, go_quote(character)[1:-1])


def _number(form: _Form, value: float, digits: str, prefix: str = "") -> str:
    sign = "-" if value < 0 else "+" if "+" in form.flags else " " if " " in form.flags else ""
    if form.precision is not None and isinstance(value, int):
        digits = digits.zfill(form.precision) if value or form.precision else ""
    elif "0" in form.flags and "-" not in form.flags:
        digits = digits.zfill(form.width - len(sign) - len(prefix))
    return _padded(form, sign + prefix + digits)


def _float(form: _Form, value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return _padded(form, float_text(value)) if form.verb in "vefgEFG" else _misfit(form, value)
    match form.verb:
        case "v" | "g" | "G" if form.precision is None:
            digits = float_text(abs(value))
        case "v" | "g" | "G" | "e" | "E" | "f" | "F":
            kind = "g" if form.verb == "v" else form.verb
            digits = format(abs(value), f".{6 if form.precision is None else form.precision}{kind}")
        case _:
            return _misfit(form, value)
    return _number(form, value, digits.upper() if form.verb in "EG" else digits)
