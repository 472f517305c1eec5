"""The values of a template, with Go's rules for their types, their truth and their printed form."""

from collections.abc import Mapping, Sequence

import msgspec


class Record(msgspec.Struct, frozen=True):
    """A Go struct with string keys: the argument of a template. Its fields are known; using another one is an error."""

    fields: Mapping[str, "Value"]


class NoValue(msgspec.Struct, frozen=True):
    """The entry that a map does not have, used as a field: printed as `<no value>`, false."""


NO_VALUE = NoValue()

Value = str | bool | int | float | Sequence[str] | Mapping[str, str] | Record | NoValue


def type_name(value: Value) -> str:
    """As reflect names the type in error messages and `%T`."""
    match value:
        case str():
            return "string"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float64"
        case Mapping():
            return "map[string]string"
        case Record():
            return "struct"
        case NoValue():
            return "<nil>"
    return "[]string"


def truth(value: Value) -> bool:
    """Go's `IsTrue`: not the zero of its type; a struct is always true."""
    if isinstance(value, Record):
        return True
    return not isinstance(value, NoValue) and bool(value)


def printed(value: Value) -> str:
    """As `fmt.Print` writes one value."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return float_text(value)
        case Mapping():
            return "map[" + " ".join(f"{key}:{value[key]}" for key in sorted(value)) + "]"
        case Record():
            return "{" + " ".join(printed(field) for field in value.fields.values()) + "}"
        case NoValue():
            return "<no value>"
    return "[" + " ".join(value) + "]"


def float_text(value: float) -> str:
    """`%v` of a float64: the shortest digits that read back, with an exponent below 1e-4 and from 1e6 on."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent_text = f"{value!r}e".partition("e")
    digits, point = _digits(mantissa)
    exponent = point - 1 + int(exponent_text.rstrip("e") or 0)
    sign = "-" if mantissa.startswith("-") else ""
    if digits == "0":
        return sign + "0"
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits.ljust(exponent + 1, "0")
    fraction = whole[exponent + 1 :]
    return sign + whole[: exponent + 1] + (f".{fraction}" if fraction else "")


def _digits(mantissa: str) -> tuple[str, int]:
    """The significant digits of a decimal, and where its point stands among them."""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    return digits.strip("0") or "0", len(whole) - leading
