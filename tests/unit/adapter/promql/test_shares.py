"""The places of a table are divided so that a rule that needs few is not affected by others that need many."""

from hypothesis import given
from hypothesis import strategies as st

from adapter.promql.shares import CHARACTERS, places, shares

COUNTS = st.lists(st.integers(0, 1_000), max_size=8)


@given(COUNTS, st.integers(0, 3_000))
def test_all_places_are_used_if_they_are_needed_and_no_rule_gets_more_than_it_needs(counts, total):
    given_places = shares(counts, total)
    assert sum(given_places) == min(sum(counts), total)
    assert all(0 <= got <= count for got, count in zip(given_places, counts, strict=True))


@given(COUNTS, st.integers(0, 3_000))
def test_a_rule_that_lacks_places_has_as_many_as_any_other_but_for_the_one_of_a_remainder(
    counts, total
):
    given_places = shares(counts, total)
    for got, count in zip(given_places, counts, strict=True):
        assert got == count or got >= max(given_places) - 1


@given(COUNTS, st.integers(0, 3_000), st.integers(0, 10_000))
def test_an_equal_share_is_never_lost_to_others(counts, total, mine):
    got = shares([*counts, mine], total)[-1]
    assert got >= min(mine, total // (len(counts) + 1))


def test_a_name_takes_a_place_for_each_64_characters():
    assert [places("a" * length) for length in (0, 1, CHARACTERS, CHARACTERS + 1, 256)] == [1, 1, 1, 2, 4]  # fmt: skip
