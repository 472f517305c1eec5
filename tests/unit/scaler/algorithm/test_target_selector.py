"""Which selectors of a scale can be used."""

import pytest

from scaler.algorithm.decision import Decision
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.plan import plan
from scaler.algorithm.settings import Settings
from tests.unit.scaler.objects import NOW, observed, spec
from wire.api.labels import parse

# A Deployment may have as many values as fit into an object, which take 0.3 s.
LONG = ",".join(["v"] * 4096)


def planned(selector):
    return plan(observed(spec(), replicas=2, selector=selector), Memory(), Settings(), NOW)


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
        pytest.param(
            f"app in ({LONG})",
            "InvalidSelector",
            "the selector of the target's scale has 8200 characters, and is not used because it has more than 4096: "
            "select its pods by fewer labels",
            None,
            id="too long to be read in each reconcile",
        ),
        pytest.param(
            ",".join(["k"] * 300),
            "InvalidSelector",
            "the selector of the target's scale has 299 commas, and is not used because it has more than 256: "
            "select its pods by fewer labels",
            None,
            id="too many labels to be compared in each reconcile",
        ),
    ],
)
def test_an_unusable_selector_is_reported(selector, event_reason, event_message, condition_message):
    decision = planned(selector)
    assert isinstance(decision, Decision)
    [event] = decision.events
    assert (event.reason, event.message) == (event_reason, event_message)
    [condition] = [each for each in decision.conditions if each.type == "ScalingActive"]
    assert condition.reason == "InvalidSelector"
    assert condition.message == (condition_message or event_message)
    assert decision.desired_replicas is None


def test_a_usable_selector_is_in_the_ask():
    ask = planned("app=web,tier!=db")
    assert isinstance(ask, Ask)
    assert ask.selector == parse("app=web,tier!=db")
