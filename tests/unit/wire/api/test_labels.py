"""Selectors as promises; the grammar itself is held to upstream's by tests/conformance/wire."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.api import label_syntax, labels
from wire.api.label_syntax import problems_of_key
from wire.api.labels import EVERYTHING, NOTHING, Operator, Requirement, Selector
from wire.api.meta import LabelSelector, LabelSelectorRequirement, go_string

quick = settings(max_examples=150, deadline=None)

keys = st.sampled_from(["app", "tier", "in", "notin", "example.com/app", "A_b.c-d"])
values = st.sampled_from(["", "web", "db", "in", "5", "07", "a.b_c-D"])
label_sets = st.dictionaries(keys, values)
set_operators = st.sampled_from([Operator.IN, Operator.NOT_IN])
exact_operators = st.sampled_from([Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS])
presence_operators = st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])
order_operators = st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN])
requirements = st.one_of(
    st.builds(
        labels.requirement, keys, set_operators, st.sets(values, min_size=1).map(sorted).map(tuple)
    ),
    st.builds(labels.requirement, keys, exact_operators, st.tuples(values)),
    st.builds(labels.requirement, keys, presence_operators),
    st.builds(labels.requirement, keys, order_operators, st.tuples(st.sampled_from(["5", "07"]))),
)
selectors = st.lists(requirements, max_size=5).map(
    lambda drawn: Selector(tuple(sorted(drawn, key=lambda each: each.key)))
)


@quick
@given(selectors)
def test_a_printed_selector_is_read_back_as_the_same(selector):
    assert labels.parse(str(selector)) == selector


@quick
@given(requirements, label_sets)
def test_a_requirement_and_its_opposite_never_agree(requirement, label_set):
    opposites = {
        Operator.IN: Operator.NOT_IN,
        Operator.EQUALS: Operator.NOT_EQUALS,
        Operator.EXISTS: Operator.DOES_NOT_EXIST,
    }
    if requirement.operator in opposites:
        opposite = Requirement(requirement.key, opposites[requirement.operator], requirement.values)
        assert requirement.matches(label_set) != opposite.matches(label_set)


@pytest.mark.parametrize("count", [1, 16, 17, 250])
def test_a_set_has_all_its_values_in_whatever_order_they_were_written(count):
    written = [f"v{number * 7 % 251}" for number in range(count)]
    expressions = [
        LabelSelectorRequirement(key="app", operator=operator, values=written)
        for operator in ("In", "NotIn")
    ]
    within, outside = (
        labels.from_label_selector(LabelSelector(match_expressions=[each])) for each in expressions
    )
    assert [within.matches({"app": value}) for value in written] == [True] * count
    assert [outside.matches({"app": value}) for value in written] == [False] * count
    for other in ({"app": "v"}, {"app": "v999"}, {"app": ""}, {"app": "w"}, {}):
        assert (within.matches(other), outside.matches(other)) == (False, True)


@quick
@given(selectors, label_sets)
def test_a_selector_matches_when_each_of_its_requirements_does(selector, label_set):
    alone = [Selector((each,)).matches(label_set) for each in selector.requirements]
    assert selector.matches(label_set) == all(alone)


@quick
@given(selectors, label_sets)
def test_the_api_object_selects_the_same_where_one_exists(selector, label_set):
    try:
        written = labels.to_label_selector(selector)
    except ValueError:
        assert any(each.operator.value in ("!=", "gt", "lt") for each in selector.requirements)
        return
    equalities = [
        each.key
        for each in selector.requirements
        if each.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS)
    ]
    if len(equalities) == len(set(equalities)):  # the object can have only one value of each
        assert labels.from_label_selector(written).matches(label_set) == selector.matches(label_set)


@quick
@given(st.text(max_size=20))
def test_any_text_is_a_selector_or_a_value_error(text):
    try:
        selector = labels.parse(text)
    except ValueError:
        return
    assert labels.parse(str(selector)) == selector


@quick
@given(selectors)
def test_a_selector_changes_as_the_api_object_does(selector):
    try:
        expected = labels.from_label_selector(labels.to_label_selector(selector))
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            labels.through_label_selector(selector)
    else:
        assert labels.through_label_selector(selector) == expected


PIECES = ("a", "b.c", "in", "example.com/a", "A/b", "x" * 64, "y" * 300 + "/a", "-", "/", "=", "==", "!", " ", "(", ")", ",", ",", "é")  # fmt: skip


@quick
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_a_plain_text_is_read_as_by_the_grammar(text):
    plain = labels._plain(text)
    if plain is not None:
        assert labels._sorted(plain) == labels._sorted(labels._Parser(text).parse())


@pytest.mark.parametrize("text", ["a", "a=", "example.com/a=b", "in=notin,b.c", "a=1,a=2,a"])
def test_labels_and_their_values_are_read_without_the_grammar(text):
    assert labels._plain(text) is not None


@quick
@given(st.lists(st.sampled_from(PIECES), max_size=4).map("".join))
def test_a_key_without_a_problem_has_none_by_any_rule(key):
    assert (problems_of_key(key) == []) == (not label_syntax._problems_by_rule(key))


def test_long_texts_that_were_read_are_not_remembered():
    before = labels._kept.cache_info().currsize
    for number in range(10):
        labels.parse(f"n{number}=" + ",".join(f"k{index}" for index in range(100)))
    assert labels._kept.cache_info().currsize == before


def test_no_selector_selects_nothing_and_an_empty_one_everything():
    assert labels.from_label_selector(None) == NOTHING
    assert labels.from_label_selector(LabelSelector()) == EVERYTHING == labels.parse("")
    assert not NOTHING.matches({})
    assert not NOTHING.matches({"app": "web"})
    assert EVERYTHING.matches({})
    assert (EVERYTHING.is_empty(), NOTHING.is_empty()) == (True, False)


def test_equal_texts_are_one_key_of_a_cache():
    assert len({labels.parse("b=1,a in (y,x)"), labels.parse("a in (x,y,x), b=1")}) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("app in (", "found '', expected: ',', ')' or identifier", id="an open set"),
        pytest.param(
            "app=-", 'values[0][app]: Invalid value: "-": a valid label must be', id="a bad value"
        ),
        pytest.param(
            "a b=c", "found 'b', expected: in, notin, =, ==, !=, gt, lt", id="no operator"
        ),
        pytest.param("app=web,", "found '', expected: identifier after ','", id="a comma too many"),
    ],
)
def test_an_error_has_upstreams_message(text, message):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the text is compared below
        labels.parse(text)
    assert message in str(refusal.value)


def test_a_selector_is_printed_as_go_prints_the_struct():
    selector = LabelSelector(
        match_labels={"b": "2", "a": "1"},
        match_expressions=[LabelSelectorRequirement(key="k", operator="In", values=["x", "y"])],
    )
    assert go_string(None) == "nil"
    assert go_string(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
    )
