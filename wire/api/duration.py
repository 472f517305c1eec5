"""Durations as Go and as Prometheus write them.

Go's (`1m30s`, `1.5h`, `-2ms`) are used in flags and in metrics.k8s.io's `window`, Prometheus' (`5m`, `1d12h`) in PromQL
and in prometheus-adapter's configuration. They differ: Go has no days and weeks, Prometheus no fractions and a fixed
order of the units. Sources: Go 1.26 package time, github.com/prometheus/common v0.71.0 package model.
"""

import re
from typing import Final

from wire.api.int64 import INT64_MAX, INT64_MIN

_GO_UNITS_NANOS: Final = {
    "ns": 1,
    "us": 1_000,
    "\N{MICRO SIGN}s": 1_000,
    "\N{GREEK SMALL LETTER MU}s": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_GO_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")

# From the largest to the smallest, the order that Prometheus requires.
_PROMETHEUS_UNITS_MS: Final = {
    "y": 365 * 86_400_000,
    "w": 7 * 86_400_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
_PROMETHEUS_DURATION: Final = re.compile(
    "".join(f"(?:([0-9]+){unit})?" for unit in _PROMETHEUS_UNITS_MS)
)


def parse_duration(text: str) -> float:
    """Seconds of a duration in Go's syntax, such as `1m30s`. Raises ValueError saying what is allowed."""
    return parse_duration_nanos(text) / 1e9


def parse_duration_nanos(text: str) -> int:
    """Nanoseconds of a duration in Go's syntax, as Go computes them. Raises ValueError."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return 0
    total = 0
    position = 0
    while position < len(unsigned):
        part = _GO_PART.match(unsigned, position)
        assert part is not None  # noqa: S101 - the pattern matches the empty text
        total += _part_nanos(text, part)
        position = part.end()
    nanos = -total if text[:1] == "-" else total
    if not unsigned or not INT64_MIN <= nanos <= INT64_MAX:
        raise _invalid(text)
    return nanos


def _part_nanos(text: str, part: re.Match[str]) -> int:
    whole, fraction, unit = part.groups()
    unit_nanos = _GO_UNITS_NANOS.get(unit)
    # 2**63 has 19 digits; a part of more cannot be in range.
    if not (whole or fraction) or unit_nanos is None or len(whole.lstrip("0")) > 19:
        raise _invalid(text)
    nanos = int(whole or "0") * unit_nanos
    if fraction:
        # As Go: digits that do not fit an int64 are dropped, and the rest is multiplied in floats.
        digits = fraction if int(fraction[:19]) <= INT64_MAX else fraction[:18]
        digits = digits[:19]
        nanos += int(int(digits) * (unit_nanos / 10.0 ** len(digits)))
    return nanos


def _invalid(text: str) -> ValueError:
    shown = text if len(text) <= 40 else text[:40] + "..."
    return ValueError(
        f"{shown!r} is not a duration: write numbers with the units h, m, s, ms, us or ns, such as 1m30s"
    )


def format_duration(seconds: float) -> str:
    """Seconds as Go's Duration.String prints them: 90 is `1m30s`, 0.1 is `100ms`."""
    return format_duration_nanos(round(seconds * 1e9))


def format_duration_nanos(nanos: int) -> str:
    """Nanoseconds as Go's Duration.String prints them."""
    sign = "-" if nanos < 0 else ""
    magnitude = abs(nanos)
    if magnitude == 0:
        return "0s"
    for unit in ("ns", "\N{MICRO SIGN}s", "ms"):
        if magnitude < 1_000 * _GO_UNITS_NANOS[unit]:
            return f"{sign}{_decimal(magnitude, _GO_UNITS_NANOS[unit])}{unit}"
    minutes, rest_nanos = divmod(magnitude, _GO_UNITS_NANOS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest_nanos, _GO_UNITS_NANOS['s'])}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(nanos: int, unit_nanos: int) -> str:
    whole, rest = divmod(nanos, unit_nanos)
    if not rest:
        return str(whole)
    digits = str(rest).zfill(len(str(unit_nanos)) - 1).rstrip("0")
    return f"{whole}.{digits}"


def parse_prometheus_duration(text: str) -> float:
    """Seconds of a duration in Prometheus' syntax, such as `5m` or `1d12h`. Raises ValueError saying what is allowed."""
    if text == "0":
        return 0.0
    found = _PROMETHEUS_DURATION.fullmatch(text) if text else None
    if found is None or any(len(digits or "") > 4_000 for digits in found.groups()):
        shown = text if len(text) <= 40 else text[:40] + "..."
        raise ValueError(
            f"{shown!r} is not a duration: write whole numbers with the units y, w, d, h, m, s, ms, "
            "the largest first, such as 5m or 1d12h"
        )
    total_ms = sum(
        int(digits) * unit_ms
        for digits, unit_ms in zip(found.groups(), _PROMETHEUS_UNITS_MS.values(), strict=True)
        if digits
    )
    if total_ms * 1_000_000 > INT64_MAX:
        raise ValueError(f"{text!r} is out of range: Prometheus allows at most 292 years")
    return total_ms / 1e3
