"""Rounds become medians and ratios that a noisy minute does not spoil."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.instruments.figures import Result, Round, document, percentile, table


def result(*rounds: tuple[str, int, dict[str, float]]) -> Result:
    return Result(
        question="speed",
        setting={"rounds": 3},
        reference="peer",
        rounds=tuple(
            Round(case="run", program=who, number=number, figures=figures)
            for who, number, figures in rounds
        ),
    )


def test_a_round_is_compared_with_the_same_round_of_the_reference():
    # The second round was slow for everybody.
    measured = result(
        ("peer", 0, {"ms": 10.0}), ("ours", 0, {"ms": 5.0}),
        ("peer", 1, {"ms": 100.0}), ("ours", 1, {"ms": 50.0}),
        ("peer", 2, {"ms": 12.0}), ("ours", 2, {"ms": 6.0}),
    )  # fmt: skip
    assert measured.ratios("run", "ours") == {"ms": 0.5}
    assert measured.medians("run", "ours") == {"ms": 6.0}


def test_one_who_took_part_in_one_round_is_compared_in_that_round():
    measured = result(
        ("peer", 0, {"ms": 10.0}), ("throttled", 0, {"ms": 40.0}), ("peer", 1, {"ms": 99.0})
    )
    assert measured.ratios("run", "throttled") == {"ms": 4.0}


def test_nothing_is_divided_by_nothing():
    measured = result(
        ("peer", 0, {"errors": 0.0, "ms": 2.0}), ("ours", 0, {"errors": 1.0, "ms": 1.0})
    )
    assert measured.ratios("run", "ours") == {"ms": 0.5}


def test_the_table_has_a_line_per_contestant_and_one_per_ratio():
    text = table(result(("peer", 0, {"cpu_ms": 2.0}), ("ours", 0, {"cpu_ms": 1.0})))
    assert text.splitlines() == [
        "speed (rounds 3); medians of the rounds",
        "",
        "run       cpu ms",
        "peer           2",
        "ours           1",
        "  / peer  x 0.50",
    ]


def test_the_document_has_every_round():
    measured = result(("peer", 0, {"ms": 2.0}), ("ours", 0, {"ms": 1.0}))
    [decoded] = msgspec.json.decode(document([measured]))
    assert decoded["cases"]["run"]["ours"] == {
        "medians": {"ms": 1.0},
        "ratios to peer": {"ms": 0.5},
    }
    assert len(decoded["rounds"]) == 2


@pytest.mark.parametrize(
    ("values", "percent", "value"),
    [
        pytest.param([7.0], 99, 7.0, id="of one, that one"),
        pytest.param([1.0, 2.0, 3.0, 4.0], 50, 2.0, id="half of an even number"),
        pytest.param([1.0, 2.0, 3.0], 99, 3.0, id="nearly all of a few is all"),
    ],
)
def test_a_percentile_is_one_of_the_values(values, percent, value):
    assert percentile(values, percent) == value


@given(
    values=st.lists(st.floats(0, 1e6), min_size=1).map(sorted),
    percent=st.integers(1, 100),
)
def test_so_many_values_are_not_above_the_percentile(values, percent):
    reached = sum(value <= percentile(values, percent) for value in values)
    assert reached >= math.ceil(len(values) * percent / 100)
