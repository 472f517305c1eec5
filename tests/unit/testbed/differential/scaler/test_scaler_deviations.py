"""A deviation explains its own difference and no other."""

from pathlib import Path

import pytest

from testbed.differential.scaler.observed_state import Difference
from testbed.differential.scaler.scaler_deviations import DEVIATIONS, deviation_explaining
from testbed.differential.scaler.scenarios.parts import scenario, spec, state

DOCUMENT = Path(__file__).parents[5] / "docs" / "deviations.md"
MISSING = "missing request for cpu in container app of Pod "


def condition(message: str, status: str = "False") -> tuple[str, str, str]:
    return status, "FailedGetResourceMetric", message


def event(message: str, count: int) -> tuple[str, str, str, int]:
    return "Warning", "FailedGetResourceMetric", message, count


def explained(upstream: object, loadline: object, pods: int = 3) -> str:
    found = Difference(
        scenario="s", step="1.1", what="web: events", upstream=upstream, loadline=loadline
    )
    return deviation_explaining(scenario("s", "s", state(spec(), all_pods=pods)), found)


@pytest.mark.parametrize(
    ("upstream", "loadline"),
    [
        pytest.param(condition(MISSING + "p2"), condition(MISSING + "p0"), id="in a condition"),
        pytest.param(
            [event(MISSING + "p2", 1), event("boom", 2), event(MISSING + "p1", 1)],
            [event(MISSING + "p0", 2), event("boom", 2)],
            id="in events",
        ),
    ],
)
def test_which_of_several_pods_is_named_may_differ(upstream, loadline):
    assert explained(upstream, loadline) == "pods-in-order"


@pytest.mark.parametrize(
    ("upstream", "loadline", "pods"),
    [
        pytest.param(condition(MISSING + "p2"), condition(MISSING + "p0"), 1, id="the only pod"),
        pytest.param(condition(MISSING + "p2"), condition("boom"), 3, id="another message"),
        pytest.param(
            condition(MISSING + "p2"), condition(MISSING + "p2", "True"), 3, id="a status"
        ),
        pytest.param(
            [event(MISSING + "p2", 1)], [event(MISSING + "p0", 2)], 3, id="one more event"
        ),
        pytest.param(3, 4, 3, id="a number"),
        pytest.param(None, condition(MISSING + "p0"), 3, id="a missing condition"),
    ],
)
def test_any_other_difference_is_not_explained(upstream, loadline, pods):
    assert explained(upstream, loadline, pods) == ""


@pytest.mark.parametrize("name", [each.name for each in DEVIATIONS])
def test_every_deviation_is_a_row_of_the_document(name):
    assert f"| `{name}`" in DOCUMENT.read_text()
