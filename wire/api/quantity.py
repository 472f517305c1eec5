"""Quantities: Kubernetes' exact numbers with a suffix (`1500m`, `2Gi`, `12e6`).

This file reads, prints and refuses what `k8s.io/apimachinery/pkg/api/resource` v0.36.3 does. It has upstream's two
representations (an int64 with a decimal scale, and a big decimal for what does not fit), because upstream rounds and
overflows differently in each, and the scaler must agree with the HPA controller there too. Known differences are
listed in tests/conformance/wire/README.md.
"""

import re
from enum import Enum
from typing import Final

import msgspec

from wire.api.int64 import INT64_MAX, INT64_MIN, fits_int64, float_ten_to, ten_to, wrap


class Format(Enum):
    """How a Quantity is printed; parsing remembers which one the text had."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIX_OF_EXPONENT: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_SUFFIX_OF_POWER: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_WHOLE_SUFFIXES: Final = ("", "k", "M", "G", "T", "P", "E")

_NANO: Final = -9
# Upstream computes with powers of ten of any size; a text of ten bytes must not fill the memory.
_DIGITS_MAX: Final = 4_000
# As Go's ParseInt reads an int64, which may begin with any number of zeros.
_EXPONENT: Final = re.compile(r"[eE]([+-]?)0*([0-9]{1,19})")

# The digits are possessive, so that a long text that is not a quantity takes no quadratic time.
_TEXT: Final = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*)")


class Quantity(msgspec.Struct, frozen=True, eq=False, kw_only=True, gc=False):
    """The exact number `mantissa * 10**scale`. Equal and ordered by value, whatever the format.

    `is_big` says that upstream would hold it as a big decimal; `text` is what upstream would reprint verbatim.
    """

    mantissa: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    is_big: bool = False
    text: str = ""

    @staticmethod
    def parse(text: str) -> "Quantity":
        """Read a quantity, or raise ValueError saying what is allowed (upstream's ParseQuantity)."""
        return _parse(text)

    @staticmethod
    def from_int(value: int, format: Format = Format.DECIMAL_SI) -> "Quantity":  # noqa: A002 - upstream's word
        """A whole number (upstream's NewQuantity)."""
        return Quantity(mantissa=value, format=format, is_big=not fits_int64(value))

    @staticmethod
    def from_milli(value_milli: int, format: Format = Format.DECIMAL_SI) -> "Quantity":  # noqa: A002
        """A number of thousandths (upstream's NewMilliQuantity)."""
        return Quantity(
            mantissa=value_milli, scale=-3, format=format, is_big=not fits_int64(value_milli)
        )

    def value(self) -> int:
        """The exact number, a fraction rounded away from zero. Raises OverflowError past 10**4000."""
        return _scaled_exactly(self, 0)

    def milli_value(self) -> int:
        """Thousandths, exactly; smaller fractions are rounded away from zero (-1500u is -2).

        Raises OverflowError past 10**4000, which no quantity with an SI suffix reaches.
        """
        return _scaled_exactly(self, -3)

    def value_int64(self) -> int:
        """What upstream's Value() returns: an int64 that wraps around, or 0, when the number does not fit."""
        return _scaled_int64(self, 0)

    def milli_value_int64(self) -> int:
        """What upstream's MilliValue() returns, and so what the HPA compares: `10P` is 0 thousandths."""
        return _scaled_int64(self, -3)

    def approximate_float(self) -> float:
        """What upstream's AsApproximateFloat64 returns: 570m is 0.5700000000000001, not 0.57."""
        try:
            base = float(self.mantissa)
        except OverflowError:
            base = float("inf") if self.mantissa > 0 else float("-inf")
        return base * float_ten_to(self.scale) if self.scale else base

    def __str__(self) -> str:
        """The canonical form; a text that upstream considers canonical is returned unchanged."""
        return self.text or _canonical(self)

    def __add__(self, other: "Quantity") -> "Quantity":
        """The exact sum, in this quantity's format unless this is zero."""
        return _add(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return _compare(self, other) == 0

    def __ne__(self, other: object) -> bool:
        # Struct brings its own `!=`, so Python does not derive it from `==`.
        return not self == other

    def __lt__(self, other: "Quantity") -> bool:
        return _compare(self, other) < 0

    def __le__(self, other: "Quantity") -> bool:
        return _compare(self, other) <= 0

    def __gt__(self, other: "Quantity") -> bool:
        return _compare(self, other) > 0

    def __ge__(self, other: "Quantity") -> bool:
        return _compare(self, other) >= 0

    def __hash__(self) -> int:
        mantissa, zeros = _without_factors(self.mantissa, 10)
        return hash((mantissa, self.scale + zeros if mantissa else 0))


def format_milli(value_milli: int) -> str:
    """Thousandths as canonical DecimalSI text, faster than through a Quantity: 1500 is `1500m`, 2000000 is `2k`."""
    if value_milli % 1000:
        return f"{value_milli}m"
    whole = value_milli // 1000
    power = 0
    while whole and power < 6 and whole % 1000 == 0:
        whole //= 1000
        power += 1
    return f"{whole}{_WHOLE_SUFFIXES[power]}"


# Reading


def _parse(text: str) -> Quantity:
    found = _TEXT.fullmatch(text) if text else None
    if found is None:
        raise ValueError(
            f"quantity {_shown(text)} is not a number with a suffix: write digits, an optional fraction and one of "
            "n u m k M G T P E, Ki Mi Gi Ti Pi Ei or an exponent (e6)"
        )
    sign, whole, fraction, suffix = found.groups()
    exponent, format_ = _read_suffix(text, suffix)
    # As upstream: leading zeros do not count, and no digits at all are a zero.
    number = whole.lstrip("0") or "0"
    fraction = fraction or ""
    if len(number) + len(fraction) > _DIGITS_MAX:
        raise ValueError(f"quantity {_shown(text)} has more than {_DIGITS_MAX} digits")
    if format_ is Format.BINARY_SI:
        small = _small_binary(text, sign, number, fraction, exponent)
    else:
        small = _small_decimal(text, sign, number + fraction, exponent - len(fraction), format_)
    if small is not None:
        return small
    if not whole and not fraction:
        raise ValueError(f"quantity {_shown(text)} has no digits")
    return _big(int(f"{sign}{number}{fraction}"), -len(fraction), exponent, format_)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


def _read_suffix(text: str, suffix: str) -> tuple[int, Format]:
    """The exponent of the suffix, of two for a binary one and of ten for the others."""
    if (exponent := _DECIMAL_SUFFIXES.get(suffix)) is not None:
        return exponent, Format.DECIMAL_SI
    if (exponent := _BINARY_SUFFIXES.get(suffix)) is not None:
        return exponent, Format.BINARY_SI
    found = _EXPONENT.fullmatch(suffix)
    if found is not None and fits_int64(power := int(found[1] + found[2])):
        return wrap(power, bits=32), Format.DECIMAL_EXPONENT
    raise ValueError(
        f"quantity {_shown(text)} ends in {_shown(suffix)}: write one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei "
        "or an exponent (e6)"
    )


def _small_decimal(
    text: str, sign: str, digits: str, scale: int, format_: Format
) -> Quantity | None:
    """What fits upstream's int64 form: at most 18 digits, nothing below nano."""
    if len(digits) > 18 or scale < _NANO:
        return None
    mantissa = int(digits)
    # Upstream keeps such a text instead of printing the canonical form: `+5` stays `+5`, `1E3` stays `1E3`.
    verbatim = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(
        mantissa=-mantissa if sign == "-" else mantissa,
        scale=scale,
        format=format_,
        text=text if verbatim else "",
    )


def _small_binary(
    text: str, sign: str, number: str, fraction: str, exponent: int
) -> Quantity | None:
    """What fits upstream's int64 form: no fraction, and few enough digits that the product certainly fits."""
    if fraction or len(number) > 14 - exponent * 3 // 10:
        return None
    value = int(number)
    mantissa = value << exponent
    return Quantity(
        mantissa=-mantissa if sign == "-" else mantissa,
        format=Format.BINARY_SI,
        text=text if value & 7 else "",
    )


def _big(mantissa: int, scale: int, exponent: int, format_: Format) -> Quantity:
    """Upstream's big decimal: in nanos, rounded up in magnitude, a binary one capped at the largest int64."""
    magnitude = abs(mantissa)
    if format_ is Format.BINARY_SI:
        magnitude <<= exponent
    else:
        scale += exponent
    if magnitude == 0:
        return Quantity(mantissa=0, scale=scale, format=format_, is_big=True)
    if scale > _DIGITS_MAX:
        # Upstream computes its digits, for hours. Nothing has to be rounded up to nanos here, so they are not needed.
        signed = -magnitude if mantissa < 0 else magnitude
        return Quantity(mantissa=signed, scale=scale, format=format_, is_big=True)
    nanos = _shift_up(magnitude, scale - _NANO)
    if format_ is Format.BINARY_SI and nanos > INT64_MAX * 10**9:
        nanos, result_scale = INT64_MAX, 0
    else:
        result_scale = _NANO
    if format_ is Format.BINARY_SI and nanos < 10**9 and result_scale == _NANO:
        format_ = Format.DECIMAL_SI
    signed = -nanos if mantissa < 0 else nanos
    return Quantity(mantissa=signed, scale=result_scale, format=format_, is_big=True)


# Printing


def _canonical(quantity: Quantity) -> str:
    """No fraction, and the largest suffix that loses nothing (upstream's CanonicalizeBytes)."""
    if quantity.mantissa == 0:
        return "0"
    if quantity.format is Format.BINARY_SI:
        whole = _whole(quantity)
        # Below 1024, and wherever there is a fraction, the decimal form is the exact one.
        if whole is not None and abs(whole) >= 1024:
            return _canonical_binary(whole)
        return _canonical_decimal(quantity, Format.DECIMAL_SI)
    return _canonical_decimal(quantity, quantity.format)


def _canonical_binary(whole: int) -> str:
    power = 0
    # Upstream cannot negate the smallest int64 and so leaves it whole.
    while whole != INT64_MIN and power < 6 and whole % 1024 == 0:
        whole //= 1024
        power += 1
    return f"{whole}{_SUFFIX_OF_POWER[power]}"


def _canonical_decimal(quantity: Quantity, format_: Format) -> str:
    mantissa, zeros = _without_factors(quantity.mantissa, 10)
    exponent = quantity.scale + zeros
    largest = exponent // 3 * 3
    if format_ is Format.DECIMAL_SI:
        # Upstream has no suffix beyond E and then prints the mantissa alone, which is another number; here it is `1000E`.
        largest = min(largest, 18)
    if exponent - largest > _DIGITS_MAX:
        raise OverflowError(f"a quantity of more than {_DIGITS_MAX} digits cannot be printed")
    mantissa *= ten_to(exponent - largest)
    if format_ is Format.DECIMAL_SI:
        return f"{mantissa}{_SUFFIX_OF_EXPONENT[largest]}"
    return f"{mantissa}e{largest}" if largest else str(mantissa)


def _whole(quantity: Quantity) -> int | None:
    """The number as an integer, or None when it has a fraction."""
    if quantity.scale >= 0:
        return _scaled_exactly(quantity, 0)
    whole, rest = divmod(quantity.mantissa, ten_to(-quantity.scale))
    return None if rest else whole


# Computing


def _scaled_exactly(quantity: Quantity, scale: int) -> int:
    """The number in units of 10**scale, rounded away from zero."""
    if quantity.mantissa == 0:
        return 0
    shift = quantity.scale - scale
    if shift > _DIGITS_MAX:
        raise OverflowError(f"a quantity of more than {_DIGITS_MAX} digits cannot be computed with")
    magnitude = _shift_up(abs(quantity.mantissa), shift)
    return -magnitude if quantity.mantissa < 0 else magnitude


def _shift_up(magnitude: int, shift: int) -> int:
    """magnitude * 10**shift, rounded up."""
    if shift >= 0:
        return magnitude * ten_to(shift)
    if -shift > 2 * _DIGITS_MAX:  # more than any magnitude has digits
        return 1
    return -(-magnitude // ten_to(-shift))


def _scaled_int64(quantity: Quantity, scale: int) -> int:
    """Upstream's ScaledValue with its bugs: it is the number that the HPA controller uses."""
    if quantity.mantissa == 0:
        return 0
    if quantity.is_big:
        return _scaled_int64_big(quantity.mantissa, quantity.scale - scale)
    if quantity.scale < scale:
        return _scaled_exactly(quantity, scale)
    return _shifted_int64(quantity.mantissa, quantity.scale - scale)


def _shifted_int64(mantissa: int, shift: int) -> int:
    """Upstream's positiveScaleInt64, whose callers drop the flag that says it overflowed."""
    if shift > 18:
        return 0
    shifted = mantissa * ten_to(shift)
    if fits_int64(shifted):
        return shifted
    # These shifts have a branch of their own, which leaves the wrapped product; the loop for the others gives 0.
    wraps = shift in (1, 2, 3, 6, 9) and mantissa != INT64_MIN
    return wrap(shifted, bits=64) if wraps else 0


def _scaled_int64_big(mantissa: int, shift: int) -> int:
    """Upstream's scaledValue: it adds one for any remainder, so negative numbers round towards zero, and wraps."""
    if shift > _DIGITS_MAX:
        # An int64 has the lowest bits of the number, and all of them are zeros.
        return 0
    if shift >= 0:
        # int64(math.Pow10(shift)) is the smallest int64 on amd64 when it does not fit.
        factor = ten_to(shift) if shift <= 18 else INT64_MIN
        return wrap(wrap(mantissa, bits=64) * factor, bits=64)
    divisor = ten_to(-shift) if -shift <= 2 * _DIGITS_MAX else ten_to(2 * _DIGITS_MAX)
    if mantissa < INT64_MAX and -shift < 19:
        low = wrap(mantissa, bits=64)
        quotient = abs(low) // divisor * (-1 if low < 0 else 1)
        return quotient + 1 if low % divisor else quotient
    return wrap(-(-mantissa // divisor), bits=64)


def _add(left: Quantity, right: Quantity) -> Quantity:
    format_ = left.format if left.mantissa else right.format
    is_big = left.is_big or right.is_big
    if left.mantissa == 0 or right.mantissa == 0:
        kept = right if left.mantissa == 0 else left
        return Quantity(mantissa=kept.mantissa, scale=kept.scale, format=format_, is_big=is_big)
    scale = min(left.scale, right.scale)
    total = _scaled_exactly(left, scale) + _scaled_exactly(right, scale)
    return Quantity(
        mantissa=total, scale=scale, format=format_, is_big=is_big or not fits_int64(total)
    )


def _compare(left: Quantity, right: Quantity) -> int:
    """Negative, zero or positive, as left is below, equal to or above right."""
    if left.scale == right.scale:
        return _sign(left.mantissa - right.mantissa)
    if _sign(left.mantissa) != _sign(right.mantissa):
        return _sign(left.mantissa) - _sign(right.mantissa)
    if left.mantissa == 0:
        return 0
    shift = left.scale - right.scale
    if abs(shift) > 2 * _DIGITS_MAX:  # the digits cannot make up for it
        return _sign(left.mantissa) * _sign(shift)
    if shift > 0:
        return _sign(left.mantissa * ten_to(shift) - right.mantissa)
    return _sign(left.mantissa - right.mantissa * ten_to(-shift))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _without_factors(number: int, factor: int) -> tuple[int, int]:
    """The number without this factor, and how many times it was in it."""
    times = 0
    while number and number % factor == 0:
        number //= factor
        times += 1
    return number, times
