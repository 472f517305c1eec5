"""Which selectors are compared with labels, of many."""

from hypothesis import given
from hypothesis import strategies as st

from scaler.cluster.selector_index import (
    REQUIREMENTS_INDEXED_MAX,
    VALUES_INDEXED_MAX,
    SelectorIndex,
)
from tests.unit.wire.api import test_labels
from wire.api.labels import EVERYTHING, parse


def index_of(*texts: str) -> SelectorIndex[str]:
    index: SelectorIndex[str] = SelectorIndex()
    for text in texts:
        index.put(parse(text), text)
    return index


def possible(index: SelectorIndex[str], **labels: str) -> set[str]:
    return set(index.possible(labels.items()).values())


@given(
    st.lists(test_labels.selectors, unique=True, max_size=8),
    st.sets(st.integers(0, 7)),
    test_labels.label_sets,
)
def test_all_that_match_may_match_until_they_are_removed(selectors, removed, labels):
    index: SelectorIndex[int] = SelectorIndex()
    for number, each in enumerate(selectors):
        index.put(each, number)
    for number in removed:
        if number < len(selectors):
            index.remove(selectors[number])
    left = {each: number for number, each in enumerate(selectors) if number not in removed}
    found = index.possible(labels.items())
    assert found.items() <= left.items()
    assert {each for each in left if each.matches(labels)} <= found.keys()
    assert [index.get(each) for each in selectors] == [left.get(each) for each in selectors]


@given(st.lists(test_labels.selectors, unique=True, max_size=8))
def test_nothing_is_kept_of_those_that_are_removed(selectors):
    index: SelectorIndex[int] = SelectorIndex()
    for each in selectors:
        index.put(each, 1)
    assert bool(index) == bool(selectors)
    for each in selectors:
        index.remove(each)
    assert not index
    assert index._by_label == {}


def test_a_selector_of_several_values_is_found_for_each_of_them():
    index = index_of("app in (web,db)", "app in (cache)", "app=web")
    assert possible(index, app="web") == {"app in (web,db)", "app=web"}
    assert possible(index, app="db", tier="x") == {"app in (web,db)"}
    assert possible(index, tier="web") == set()


def test_the_label_that_fewest_selectors_share_decides():
    texts = [f"app=a{number},part-of=shop" for number in range(9)]
    texts += [f"name=a{number},instance=shop" for number in range(9)]
    index = index_of(*texts)
    found = possible(index, app="a3", name="a5", **{"part-of": "shop", "instance": "shop"})
    assert len(found) <= 4
    assert {texts[3], texts[14]} <= found


def test_what_no_label_decides_is_always_found():
    values = ",".join(f"v{number}" for number in range(VALUES_INDEXED_MAX + 1))
    index = index_of("app", "!tier", "app notin (db)", f"app in ({values})", "app=web", "")
    assert possible(index) == {"app", "!tier", "app notin (db)", f"app in ({values})", ""}
    assert index.get(EVERYTHING) == ""


def test_a_selector_of_many_requirements_is_found_again():
    text = ",".join(f"k{number:03}=v" for number in range(3 * REQUIREMENTS_INDEXED_MAX))
    index = index_of("k000=v", text)
    assert index.get(parse(text)) == text
    index.remove(parse(text))
    assert (index.get(parse(text)), index.get(parse("k000=v"))) == (None, "k000=v")
