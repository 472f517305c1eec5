"""A difference that is kept on purpose is known by its name, and covers nothing else."""

from pathlib import Path

import pytest

from testbed.differential.scaler.deviations import DEVIATIONS, kept_on_purpose
from testbed.differential.scaler.scenarios.building import scenario, situation, spec
from testbed.differential.scaler.seen import Difference

DOCUMENT = Path(__file__).parents[4] / "docs" / "deviations.md"
MISSING = "missing request for cpu in container app of Pod "


def condition(message: str, status: str = "False") -> tuple[str, str, str]:
    return status, "FailedGetResourceMetric", message


def event(message: str, count: int) -> tuple[str, str, str, int]:
    return "Warning", "FailedGetResourceMetric", message, count


def explained(theirs: object, ours: object, pods: int = 3) -> str:
    found = Difference(scenario="s", step="1.1", what="web: events", theirs=theirs, ours=ours)
    return kept_on_purpose(scenario("s", "s", situation(spec(), all_pods=pods)), found)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(condition(MISSING + "p2"), condition(MISSING + "p0"), id="in a condition"),
        pytest.param(
            [event(MISSING + "p2", 1), event("boom", 2), event(MISSING + "p1", 1)],
            [event(MISSING + "p0", 2), event("boom", 2)],
            id="in events",
        ),
    ],
)
def test_which_of_several_pods_is_named_is_not_ours_to_copy(theirs, ours):
    assert explained(theirs, ours) == "pods-in-order"


@pytest.mark.parametrize(
    ("theirs", "ours", "pods"),
    [
        pytest.param(condition(MISSING + "p2"), condition(MISSING + "p0"), 1, id="the only pod"),
        pytest.param(condition(MISSING + "p2"), condition("boom"), 3, id="other words"),
        pytest.param(
            condition(MISSING + "p2"), condition(MISSING + "p2", "True"), 3, id="a status"
        ),
        pytest.param(
            [event(MISSING + "p2", 1)], [event(MISSING + "p0", 2)], 3, id="one event more"
        ),
        pytest.param(3, 4, 3, id="a number"),
        pytest.param(None, condition(MISSING + "p0"), 3, id="nothing against something"),
    ],
)
def test_everything_else_stays_a_difference(theirs, ours, pods):
    assert explained(theirs, ours, pods) == ""


@pytest.mark.parametrize("name", [each.name for each in DEVIATIONS])
def test_every_deviation_is_a_row_of_the_document(name):
    assert f"| `{name}`" in DOCUMENT.read_text()
