"""A dry run compared with what was, from recorded counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_loadline.status.dry_run import compare
from kubectl_loadline.status.text import comparison_sentence


def series(*values):
    return {60.0 * index: float(value) for index, value in enumerate(values) if value is not None}


def test_replica_hours_and_minutes_are_those_of_the_steps():
    found = compare(series(4, 4, 4, 4), series(2, 4, 7, 1), step_seconds=900)
    assert found.hours == 1
    assert (found.actual_replica_hours, found.desired_replica_hours) == (4, 3.5)
    assert (found.short_minutes, found.short_replica_hours) == (15, 0.75)
    assert (found.excess_minutes, found.excess_replica_hours) == (30, 1.25)
    assert found.saved_replica_hours == 0.5


def test_steps_without_one_of_the_counts_do_not_count():
    found = compare(series(4, None, 4), series(2, 2, None), step_seconds=60)
    assert found.hours == pytest.approx(1 / 60)
    assert compare(series(4), {}, step_seconds=60) is None


counts = st.dictionaries(st.integers(0, 50).map(float), st.integers(0, 100).map(float))


@given(actual=counts, desired=counts)
def test_what_is_saved_is_the_excess_without_the_shortage(actual, desired):
    found = compare(actual, desired, step_seconds=60)
    if found is not None:
        difference = found.excess_replica_hours - found.short_replica_hours
        assert found.saved_replica_hours == pytest.approx(difference, abs=1e-9)
        assert found.short_minutes + found.excess_minutes <= found.hours * 60 + 1e-9


@pytest.mark.parametrize(("desired", "expected"), [(2, "fewer"), (6, "more"), (4, ": the same.")])
def test_the_sentence_says_whether_it_is_fewer_or_more(desired, expected):
    found = compare(series(4), series(desired), step_seconds=3600)
    sentence = comparison_sentence(found, "the recording")
    assert expected in sentence.splitlines()[0]
    assert sentence.endswith("Based on the recording.")
