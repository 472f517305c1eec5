"""Durations against Go's package time and Prometheus' package model."""

import msgspec

from wire.api.duration import (
    format_duration_nanos,
    parse_duration_nanos,
    parse_prometheus_duration,
)


class Row(msgspec.Struct):
    kind: str
    text: str
    nanos: int
    string: str = ""
    error: bool = False


def parsed(parse, text):
    try:
        return parse(text)
    except ValueError:
        return None


def test_go_durations_are_read_and_refused_alike(rows):
    wrong = []
    for row in rows("durations.jsonl", Row):
        if row.kind == "go":
            nanos = parsed(parse_duration_nanos, row.text)
            if nanos != (None if row.error else row.nanos):
                wrong.append((row, nanos))
        if row.kind in ("go", "nanos") and not row.error:
            printed = format_duration_nanos(row.nanos)
            if printed != row.string:
                wrong.append((row, printed))
    assert wrong == []


def test_prometheus_durations_are_read_and_refused_alike(rows):
    wrong = []
    for row in rows("durations.jsonl", Row):
        if row.kind != "prometheus":
            continue
        seconds = parsed(parse_prometheus_duration, row.text)
        milliseconds = None if seconds is None else round(seconds * 1e3)
        if milliseconds != (None if row.error else row.nanos // 1_000_000):
            wrong.append((row, seconds))
    assert wrong == []
