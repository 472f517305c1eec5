"""A deviation explains its own difference and no other."""

from pathlib import Path

import msgspec
import pytest

from scaler.api.upstream import NEWEST, upstream_of
from testbed.differential.scaler.observed_state import Difference
from testbed.differential.scaler.scaler_deviations import (
    DEVIATIONS,
    NEWEST_VERSION,
    deviation_explaining,
)
from testbed.differential.scaler.scenarios.parts import scenario, spec, state, then
from testbed.differential.scaler.scenarios.selectors import selector_scenarios

DOCUMENT = Path(__file__).parents[5] / "docs" / "deviations.md"
MISSING = "missing request for cpu in container app of Pod "


def condition(message: str, status: str = "False") -> tuple[str, str, str]:
    return status, "FailedGetResourceMetric", message


def event(message: str, count: int) -> tuple[str, str, str, int]:
    return "Warning", "FailedGetResourceMetric", message, count


def explained(
    upstream: object,
    loadline: object,
    pods: int = 3,
    *,
    of_hpas: bool = True,
    what: str = "events",
    minor: int = NEWEST.minor,
) -> str:
    found = Difference(
        scenario="s", step="1.1", what=f"web: {what}", upstream=upstream, loadline=loadline
    )
    compared = scenario("s", "s", state(spec(), all_pods=pods))
    return deviation_explaining(compared, found, upstream_of(minor), of_hpas=of_hpas)


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


RESCALED = ("Normal", "SuccessfulRescale", "New size: 5", 1)


@pytest.mark.parametrize(
    ("upstream", "loadline"),
    [
        pytest.param([event("boom", 9), RESCALED], [event("boom", 2), RESCALED], id="less often"),
        pytest.param(
            [event(MISSING + "p2", 4), event(MISSING + "p1", 5)],
            [event(MISSING + "p0", 1)],
            id="of whichever pod",
        ),
    ],
)
def test_a_lasting_failure_may_be_reported_once_on_a_load_autoscaler(upstream, loadline):
    assert explained(upstream, loadline, of_hpas=False) == "lasting-failures"
    assert explained(upstream, loadline, of_hpas=True) == ""


@pytest.mark.parametrize(
    ("upstream", "loadline"),
    [
        pytest.param([event("boom", 9)], [], id="never"),
        pytest.param([event("boom", 1)], [event("boom", 2)], id="more often"),
        pytest.param([event("boom", 9)], [event("bang", 1)], id="another failure"),
        pytest.param([event("boom", 9), RESCALED], [event("boom", 1)], id="no rescale"),
        pytest.param([(*RESCALED[:3], 2)], [RESCALED], id="a rescale less often"),
    ],
)
def test_no_event_may_be_missing_on_a_load_autoscaler(upstream, loadline):
    assert explained(upstream, loadline, of_hpas=False) == ""


@pytest.mark.parametrize("name", [each.name for each in (*DEVIATIONS, NEWEST_VERSION)])
def test_every_deviation_is_a_row_of_the_document(name):
    assert f"| `{name}`" in DOCUMENT.read_text()


@pytest.mark.parametrize(
    ("what", "upstream", "loadline", "name"),
    [
        ("condition ScaledToZero", "True", "False", "users-zero"),
        ("condition ScaledToZero", "False", "True", ""),
        ("condition ScaledToZero", None, "False", ""),
        ("condition ScalingActive", "True", "False", ""),
    ],
)
def test_a_load_autoscaler_forgets_its_zero_when_it_finds_its_target_above(
    what, upstream, loadline, name
):
    both = [status and (status, "", "") for status in (upstream, loadline)]
    assert explained(*both, of_hpas=False, what=what) == name
    assert explained(*both, what=what) == "", "of an HPA"


CONDITION = "condition ScalingActive"
OBJECT = (
    "unable to get metric q: Service on NAMESPACE front/boom/2",
    "unable to get metric q on Service NAMESPACE/front: boom/2",
)
AMBIGUOUS = (
    "pods by selector app=web are controlled by multiple HPAs: [NAMESPACE/a NAMESPACE/b NAMESPACE/c]",
    "pods by selector app=web are controlled by more than one HPA (e.g. [NAMESPACE/a NAMESPACE/b])",
)


@pytest.mark.parametrize("minor", [35, 36])
@pytest.mark.parametrize(("older", "newest"), [OBJECT, AMBIGUOUS], ids=["object", "ambiguous"])
def test_a_load_autoscaler_speaks_as_the_newest_version_beside_an_older_one(minor, older, newest):
    assert explained(
        condition(older), condition(newest), of_hpas=False, minor=minor, what=CONDITION
    ) == ("newest-version")
    assert explained([event(older, 9)], [event(newest, 1)], of_hpas=False, minor=minor) == (
        "lasting-failures"
    )


@pytest.mark.parametrize(("older", "newest"), [OBJECT, AMBIGUOUS], ids=["object", "ambiguous"])
def test_the_text_of_another_version_is_a_difference_anywhere_else(older, newest):
    both = condition(older), condition(newest)
    more = condition(older), condition(newest + "!")
    assert explained(*both, what=CONDITION, of_hpas=False) == "", "beside the newest version"
    assert explained(*both, what=CONDITION, minor=36) == "", "of an HPA"
    assert explained(*reversed(both), what=CONDITION, of_hpas=False, minor=36) == "", "the reverse"
    assert explained(*more, what=CONDITION, of_hpas=False, minor=36) == "", "and more text"


def test_which_two_of_three_autoscalers_are_named_may_differ():
    of_three, of_two = (
        next(each for each in selector_scenarios() if name in each.name)
        for name in ("three autoscalers", "two autoscalers of the same pods")
    )
    both = [
        condition(f"by more than one HPA (e.g. [{pair}])")
        for pair in ("NAMESPACE/two NAMESPACE/three", "NAMESPACE/one NAMESPACE/two")
    ]
    found = Difference(
        scenario="s", step="1.1", what="one: condition", upstream=both[0], loadline=both[1]
    )
    assert deviation_explaining(of_three, found, NEWEST, of_hpas=True) == "ambiguous-names"
    assert deviation_explaining(of_two, found, NEWEST, of_hpas=True) == ""


@pytest.mark.parametrize(
    ("upstream", "loadline", "name"),
    [(None, 1, "observed-generation"), (2, 3, "observed-generation"), (3, 2, ""), (2, None, "")],
)
def test_a_load_autoscaler_says_sooner_which_generation_it_has_seen(upstream, loadline, name):
    both = upstream, loadline
    assert explained(*both, of_hpas=False, what="observedGeneration") == name
    assert explained(*both, what="observedGeneration") == "", "of an HPA"
    assert explained(*both, of_hpas=False, what="currentReplicas") == ""


@pytest.mark.parametrize(
    ("phase", "of_hpas", "name"),
    [("Succeeded", False, "succeeded-pods"), ("Succeeded", True, ""), ("Failed", False, "")],
)
def test_other_replicas_are_explained_by_succeeded_pods_of_a_load_autoscaler_only(
    phase, of_hpas, name
):
    found = Difference(scenario="s", step="1.1", what="web: replicas", upstream=8, loadline=6)
    before = state(spec(), all_pods=1)
    pods = tuple(msgspec.structs.replace(each, phase=phase) for each in before.pods)
    compared = scenario("s", "s", msgspec.structs.replace(before, pods=pods))
    assert deviation_explaining(compared, found, NEWEST, of_hpas=of_hpas) == name


def by_a_users_zero(minor: int) -> str:
    found = Difference(scenario="s", step="1.1", what="web: replicas", upstream=3, loadline=0)
    compared = scenario("s", "s", state(spec(least=0), replicas=0, all_pods=0))
    return deviation_explaining(compared, found, upstream_of(minor), of_hpas=False)


def test_beside_1_35_a_zero_of_a_user_stays():
    assert by_a_users_zero(35) == NEWEST_VERSION.name
    assert by_a_users_zero(36) == ""


def test_beside_1_35_a_zero_of_the_controller_ends_when_the_minimum_is_raised():
    found = Difference(scenario="s", step="2.1", what="web: replicas", upstream=0, loadline=3)
    begun = state(spec(least=0))
    compared = scenario("s", "s", begun, then(begun, spec=spec(least=3)))

    def on(minor: int) -> str:
        return deviation_explaining(compared, found, upstream_of(minor), of_hpas=False)

    assert on(35) == NEWEST_VERSION.name
    assert on(36) == ""


@pytest.mark.parametrize(
    ("what", "upstream", "loadline"),
    [
        ("condition ScaledToZero", None, ("True", "ScaledToZero", "m")),
        ("order of conditions", ["AbleToScale"], ["AbleToScale", "ScaledToZero"]),
    ],
)
def test_beside_1_35_only_a_loadautoscaler_says_who_set_a_zero(what, upstream, loadline):
    def on(minor: int) -> str:
        return explained(upstream, loadline, what=what, of_hpas=False, minor=minor)

    assert on(35) == NEWEST_VERSION.name
    assert on(36) == ""
    assert explained(loadline, upstream, what=what, of_hpas=False, minor=35) == ""
