"""What a selector matches of several labels at once is what it matches of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.cluster.label_sets import LabelSets
from tests.unit.wire.api import test_labels
from wire.api.labels import NOTHING, Selector, parse


@given(st.lists(test_labels.label_sets, max_size=8), test_labels.selectors | st.just(NOTHING))
def test_a_selector_matches_any_of_them_if_it_matches_one_of_them(each, selector):
    assert LabelSets(each).any_match(selector) == any(map(selector.matches, each))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("version>3", True),
        ("version>9", False),
        ("version<3", False),
        ("version<4", True),
        ("version>2,version<9,app=web", False),
        ("version>2,version<9,app=db", True),
        ("version>8,version<10", True),
        ("other>3", False),
    ],
)
def test_a_label_that_is_not_a_number_is_neither_above_nor_below_one(text, matches):
    others = [{"version": version} for version in ("1.5", "", "99999999999999999999")]
    each = [{"version": "9", "app": "web"}, {"version": "3", "app": "db"}, *others]
    assert LabelSets(each).any_match(parse(text)) == matches


def test_what_was_found_for_one_selector_does_not_change_what_is_found_for_the_next():
    sets = LabelSets([{"app": "web"}, {"tier": "5"}])
    for text, matches in [("app,tier", False), ("tier>4", True), ("!app", True), ("app", True)] * 2:
        assert sets.any_match(parse(text)) == matches
    assert sets.any_match(Selector())
