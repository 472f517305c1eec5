"""The few conversions where Go's numbers and times differ from Python's, as go1.26 compiles them for amd64.

The HPA controller computes in int64, int32 and float64. Out of range, an integer wraps around and a
float becomes the smallest integer there is; users meet both (see docs/deviations.md).
"""

import math
from datetime import datetime

from wire.api.int64 import INT64_MAX, INT64_MIN, fits_int64, wrap

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)
# Go's zero time, which an absent time decodes to: the first of January of the year 1.
ZERO_TIME_UNIX_SECONDS = -62_135_596_800.0


def unix_seconds(time: datetime | None) -> float:
    """An API time as Unix seconds; an absent one is Go's zero time."""
    return ZERO_TIME_UNIX_SECONDS if time is None else time.timestamp()


def int32(number: int) -> int:
    """The number as an int32, wrapped around."""
    return number if INT32_MIN <= number <= INT32_MAX else wrap(number, bits=32)


def int64(number: int) -> int:
    """The number as an int64, wrapped around."""
    return number if fits_int64(number) else wrap(number, bits=64)


def float_to_int32(number: float) -> int:
    """`int32(number)`: towards zero; NaN and what does not fit give the smallest int32."""
    return _truncated(number, INT32_MIN, INT32_MAX)


def float_to_int64(number: float) -> int:
    """`int64(number)`: towards zero; NaN and what does not fit give the smallest int64."""
    return _truncated(number, INT64_MIN, INT64_MAX)


def _truncated(number: float, lowest: int, highest: int) -> int:
    if math.isnan(number) or math.isinf(number):
        return lowest
    whole = math.trunc(number)
    return whole if lowest <= whole <= highest else lowest


def ceil(number: float) -> float:
    """`math.Ceil`: stays a float, so that infinities and NaN pass."""
    return float(math.ceil(number)) if math.isfinite(number) else number


def divide(dividend: float, divisor: float) -> float:
    """Float division that gives an infinity or NaN for a divisor of zero."""
    if divisor != 0:
        return dividend / divisor
    if dividend == 0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def quotient(dividend: int, divisor: int) -> int:
    """Integer division towards zero, where Python's `//` goes down."""
    magnitude = abs(dividend) // abs(divisor)
    return int64(magnitude if (dividend < 0) == (divisor < 0) else -magnitude)
