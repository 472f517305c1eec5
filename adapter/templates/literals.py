"""Literals of Go source text to values: strings, characters and numbers as strconv and text/template read them."""

import re

from adapter.templates.lexer import Kind, Token
from wire.api.int64 import fits_int64

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)


def read(token: Token) -> str | int | float:
    """The value of a literal token; raises `ValueError` with what is wrong."""
    if token.kind is Kind.RAW_STRING:
        return token.text[1:-1].replace("\r", "")
    if token.kind is Kind.STRING:
        return unquote(token.text)
    if token.kind is Kind.CHARACTER:
        character = unquote(token.text)
        if len(character) != 1:
            raise ValueError(f"malformed character constant: {token.text}")
        return ord(character)
    return _number(token.text)


def unquote(text: str) -> str:
    """The string in Go's double or single quotes. `\\xNN` and octals are bytes, which together must be UTF-8."""
    quote, body = text[0], text[1:-1]
    other = "'" if quote == '"' else '"'
    out, at = bytearray(), 0
    for match in _ESCAPE.finditer(body):
        out += body[at : match.start()].encode()
        at = match.end()
        byte, short, long, octal, simple = match.groups()
        if byte or octal:
            value = int(byte, 16) if byte else int(octal, 8)
            if value > 255:
                raise ValueError(f"invalid syntax: {match.group()} is not a byte")
            out.append(value)
        elif short or long:
            out += _character(int(short or long, 16), match.group())
        elif simple in _SIMPLE and simple != other:
            out += _SIMPLE[simple].encode()
        else:
            raise ValueError(f"invalid syntax: {match.group()} is not an escape sequence")
    out += body[at:].encode()
    return (
        out.decode()
    )  # UnicodeDecodeError is a ValueError: bytes that are not UTF-8 cannot be part of a query


def _character(code_point: int, written: str) -> bytes:
    if code_point > 0x10FFFF or 0xD800 <= code_point < 0xE000:
        raise ValueError(f"invalid syntax: {written} is not a character")
    return chr(code_point).encode()


def _number(text: str) -> int | float:
    """Go's rule: a number is an int unless it is written with a point or an exponent."""
    hexadecimal = text.lstrip("+-")[:2] in ("0x", "0X")
    try:
        if not hexadecimal and re.search(r"[.eE]", text):
            return float(text)
        digits = text.lstrip("+-")
        legacy_octal = len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567_"
        value = int(text, 8) if legacy_octal else int(text, 0)
    except ValueError:
        raise ValueError(f"bad number syntax: {text!r}") from None
    if not fits_int64(value):
        raise ValueError(f"{text} overflows int")
    return value
