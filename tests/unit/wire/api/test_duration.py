"""Durations as promises; every form is held to Go and Prometheus by tests/conformance/wire."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.api.duration import (
    format_duration,
    format_duration_nanos,
    parse_duration,
    parse_duration_nanos,
    parse_prometheus_duration,
)

quick = settings(max_examples=150, deadline=None)


@quick
@given(st.integers(-(2**63), 2**63 - 1))
def test_a_printed_go_duration_is_read_back_to_the_nanosecond(nanos):
    assert parse_duration_nanos(format_duration_nanos(nanos)) == nanos


@quick
@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_value_error(text):
    for parse in (parse_duration, parse_prometheus_duration):
        try:
            parse(text)
        except ValueError as error:
            assert repr(text) in str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("1m30s", 90.0, id="two units"),
        pytest.param("100ms", 0.1, id="a tenth"),
        pytest.param("1.5h", 5400.0, id="a fraction"),
        pytest.param("-5s", -5.0, id="negative"),
        pytest.param("0", 0.0, id="zero needs no unit"),
    ],
)
def test_flags_are_read_as_go_reads_them(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["5", "1d", "1 s", "", "1s ", "9999999999h"])
def test_a_duration_that_go_refuses_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="such as 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["5", "1.5h", "1m1h", "", "-5m"])
def test_a_duration_that_prometheus_refuses_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="such as 5m or 1d12h"):
        parse_prometheus_duration(text)


def test_seconds_are_printed_as_by_go():
    printed = [format_duration(seconds) for seconds in (0, 60, 90.5, 0.0015, 3600)]
    assert printed == ["0s", "1m0s", "1m30.5s", "1.5ms", "1h0m0s"]
