"""Sets of days as numbers with a bit for each day: of a year, of its months and of its weeks."""

from calendar import isleap
from collections.abc import Iterator
from datetime import date
from itertools import accumulate

_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP_MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# The first day of each week of a year, and of one more.
_EVERY_WEEK = sum(1 << 7 * week for week in range(54))
_MONTHS, _LEAP_MONTHS = (
    tuple(zip(accumulate(lengths, initial=0), lengths, strict=False))
    for lengths in (_MONTH_LENGTHS, _LEAP_MONTH_LENGTHS)
)


def year_length(year: int) -> int:
    """The number of days."""
    return 366 if isleap(year) else 365


def months_of_year(year: int) -> tuple[tuple[int, int], ...]:
    """For each month the days of the year before it, and the number of its days."""
    return _LEAP_MONTHS if isleap(year) else _MONTHS


def first_weekday(year: int) -> int:
    """That of 1 January; Monday is 0."""
    return date(year, 1, 1).weekday()


def of_weekdays(weekdays: int, first: int) -> int:
    """A year of days with these weekdays, and some more days; `first` is the weekday of the lowest bit. Monday is the lowest one."""
    return weekdays * _EVERY_WEEK >> first


def days_of_bits(bits: int, begin: int) -> Iterator[int]:
    """The days of which a bit is set, ascending; the lowest bit is that of `begin`."""
    while bits:
        lowest = bits & -bits
        yield begin + lowest.bit_length() - 1
        bits ^= lowest
