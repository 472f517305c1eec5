"""When the target's pods cannot be told from others."""

import pytest

from scaler.recommend.selector import SelectorProblem, selector_problem, target_selector
from tests.unit.scaler.objects import observed, spec
from wire.labels import parse


@pytest.mark.parametrize(
    ("selector", "event_reason", "event_message", "condition_message"),
    [
        pytest.param(
            "",
            "SelectorRequired",
            "selector is required",
            "the HPA target's scale is missing a selector",
            id="empty",
        ),
        pytest.param(
            "cheddar cheese",
            "InvalidSelector",
            "couldn't convert selector into a corresponding internal selector object: "
            "unable to parse requirement: found 'cheese', expected: in, notin, =, ==, !=, gt, lt",
            None,
            id="not a selector",
        ),
    ],
)
def test_an_unusable_selector_is_told(selector, event_reason, event_message, condition_message):
    problem = selector_problem(observed(spec(), replicas=2, selector=selector))
    assert problem is not None
    assert (problem.event_reason, problem.event_message) == (event_reason, event_message)
    assert problem.condition_reason == "InvalidSelector"
    assert problem.condition_message == (condition_message or event_message)


@pytest.mark.parametrize(
    ("controlled_by", "is_ambiguous"),
    [
        pytest.param((), False, id="no pods, no conflict"),
        pytest.param(("shop/web",), False, id="only this one"),
        pytest.param(("shop/web", "shop/other"), True, id="two"),
    ],
)
def test_pods_of_two_autoscalers_are_ambiguous(controlled_by, is_ambiguous):
    problem = selector_problem(observed(spec(), replicas=2, controlled_by=controlled_by))
    assert (problem is not None) is is_ambiguous
    if problem is not None:
        assert problem.event_message == (
            "pods by selector app=web are controlled by multiple HPAs: [shop/web shop/other]"
        )


def test_a_usable_selector_is_parsed():
    scale = observed(spec(), replicas=2, selector="app=web,tier!=db").scale
    assert target_selector(scale) == parse("app=web,tier!=db")
    assert not isinstance(target_selector(scale), SelectorProblem)
