"""Medians and ratios of rounds are robust against load that affects all programs."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.instruments.figures import Result, Round, document, percentile, table


def result(*rounds: tuple[str, int, dict[str, float]]) -> Result:
    return Result(
        benchmark="speed",
        setting={"rounds": 3},
        reference="upstream",
        rounds=tuple(
            Round(case="run", program=name, number=number, figures=figures)
            for name, number, figures in rounds
        ),
    )


def test_a_round_is_compared_with_the_same_round_of_the_reference():
    # The second round was slow for all.
    measured = result(
        ("upstream", 0, {"ms": 10.0}), ("loadline", 0, {"ms": 5.0}),
        ("upstream", 1, {"ms": 100.0}), ("loadline", 1, {"ms": 50.0}),
        ("upstream", 2, {"ms": 12.0}), ("loadline", 2, {"ms": 6.0}),
    )  # fmt: skip
    assert measured.ratios("run", "loadline") == {"ms": 0.5}
    assert measured.medians("run", "loadline") == {"ms": 6.0}


def test_a_program_with_one_round_is_compared_in_that_round():
    measured = result(
        ("upstream", 0, {"ms": 10.0}), ("throttled", 0, {"ms": 40.0}), ("upstream", 1, {"ms": 99.0})
    )
    assert measured.ratios("run", "throttled") == {"ms": 4.0}


def test_a_figure_that_is_zero_for_the_reference_has_no_ratio():
    measured = result(
        ("upstream", 0, {"errors": 0.0, "ms": 2.0}), ("loadline", 0, {"errors": 1.0, "ms": 1.0})
    )
    assert measured.ratios("run", "loadline") == {"ms": 0.5}


def test_the_table_has_a_row_per_program_and_one_per_ratio():
    text = table(result(("upstream", 0, {"cpu_ms": 2.0}), ("loadline", 0, {"cpu_ms": 1.0})))
    assert text.splitlines() == [
        "speed (rounds 3); medians of the rounds",
        "",
        "run           cpu ms",
        "upstream           2",
        "loadline           1",
        "  / upstream  x 0.50",
    ]


def test_the_document_has_every_round():
    measured = result(("upstream", 0, {"ms": 2.0}), ("loadline", 0, {"ms": 1.0}))
    [decoded] = msgspec.json.decode(document([measured]))
    assert decoded["cases"]["run"]["loadline"] == {
        "medians": {"ms": 1.0},
        "ratios to upstream": {"ms": 0.5},
    }
    assert len(decoded["rounds"]) == 2


@pytest.mark.parametrize(
    ("values", "percent", "value"),
    [
        pytest.param([7.0], 99, 7.0, id="a single value"),
        pytest.param([1.0, 2.0, 3.0, 4.0], 50, 2.0, id="the median of an even number"),
        pytest.param([1.0, 2.0, 3.0], 99, 3.0, id="a high percentile of few values"),
    ],
)
def test_a_percentile_is_one_of_the_values(values, percent, value):
    assert percentile(values, percent) == value


@given(
    values=st.lists(st.floats(0, 1e6), min_size=1).map(sorted),
    percent=st.integers(1, 100),
)
def test_at_least_percent_of_the_values_are_not_above_the_percentile(values, percent):
    reached = sum(value <= percentile(values, percent) for value in values)
    assert reached >= math.ceil(len(values) * percent / 100)
