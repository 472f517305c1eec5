"""The core answers as the HPA controller's own code does, of each supported Kubernetes version.

Its own test cases, and more than 20,000 random inputs. README.md describes the vectors and how to record them again.
"""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from scaler.api.upstream import upstream_of
from testbed.oracle.scaler.cases import Vector
from testbed.oracle.scaler.record import UPSTREAM_VECTORS, inputs, random_vectors_of, read
from testbed.oracle.scaler.replay import difference
from testbed.oracle.scaler.versions import MINORS, NEWEST

OLDER = MINORS[:-1]

Vectors = Callable[[int], list[Vector]]


@pytest.fixture(scope="module")
def recorded_of() -> Vectors:
    """The random vectors of a minor version, which are read once."""
    found: dict[int, list[Vector]] = {}

    def recorded(minor: int) -> list[Vector]:
        if minor not in found:
            found[minor] = read(random_vectors_of(minor))
        return found[minor]

    return recorded


@pytest.fixture(scope="module")
def upstream_vectors() -> list[Vector]:
    return read(UPSTREAM_VECTORS)


@pytest.mark.parametrize("minor", MINORS)
def test_the_core_answers_as_the_controller_of_that_version_did(minor, recorded_of):
    upstream = upstream_of(minor)
    found = [
        text for each in recorded_of(minor) if (text := difference(each, upstream)) is not None
    ]
    assert found[:1] == [], f"{len(found)} differences"


def test_the_core_answers_upstreams_own_cases_as_the_newest_controller_did(upstream_vectors):
    newest = upstream_of(NEWEST)
    found = [text for each in upstream_vectors if (text := difference(each, newest)) is not None]
    assert found[:1] == [], f"{len(found)} differences"


@pytest.mark.parametrize("minor", OLDER)
def test_every_vector_of_an_older_version_tells_it_apart_from_the_newest(minor, recorded_of):
    """But for those with a gate that the newest version no longer has."""
    told_apart = [each for each in recorded_of(minor) if each.case.settings.configurable_tolerance]
    newest = upstream_of(NEWEST)
    assert [each.case for each in told_apart if difference(each, newest) is None] == []


@pytest.mark.parametrize(("minor", "other"), [(35, 36), (36, 35), (37, 36), (37, 35)])
def test_the_vectors_of_a_version_are_not_those_of_another(minor, other, recorded_of):
    assert any(difference(each, upstream_of(other)) for each in recorded_of(minor))


@pytest.mark.parametrize(
    "trait",
    [
        "keeps_generations",
        "marks_zero",
        "has_ambiguous_text",
        "names_two_of_ambiguous",
        "refuses_unknown",
        "has_object_metric_text",
        "counts_wrapped_spec_errors",
    ],
)
def test_the_newest_vectors_show_each_trait_of_a_decision(trait, recorded_of):
    without = msgspec.structs.replace(upstream_of(NEWEST), **{trait: False})
    assert any(difference(each, without) for each in recorded_of(NEWEST))


def test_there_are_more_than_twenty_thousand_random_inputs(recorded_of):
    assert inputs(recorded_of(NEWEST)) > 20_000


@pytest.mark.parametrize("minor", OLDER)
def test_tolerances_are_left_out_where_a_gate_can_be_off(minor, recorded_of):
    without = [each for each in recorded_of(minor) if not each.case.settings.configurable_tolerance]
    with_gate = [
        msgspec.structs.replace(
            each,
            case=msgspec.structs.replace(
                each.case,
                settings=msgspec.structs.replace(each.case.settings, configurable_tolerance=True),
            ),
        )
        for each in without
    ]
    assert any(difference(each, upstream_of(minor)) for each in with_gate)


def test_upstreams_cases_are_of_every_mode(upstream_vectors):
    """A test that waits for a second reconcile may record one more or less, so these are minimums."""
    modes = Counter(vector.case.mode for vector in upstream_vectors)
    assert modes["reconcile"] >= 150
    assert modes["metrics"] >= 76
    assert modes["normalize"] >= 56


def test_every_reason_was_met(recorded_of):
    """Vectors that never reach a branch would prove nothing about it."""
    reasons = Counter(
        condition.reason
        for vector in recorded_of(NEWEST)
        for step in vector.steps
        for condition in step.status.conditions or ()
    )
    assert {
        "SucceededGetScale", "FailedGetScale", "SucceededRescale", "FailedUpdateScale",
        "ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized",
        "ValidMetricFound", "ScalingDisabled", "InvalidSelector", "AmbiguousSelector",
        "FailedGetObjectMetric", "FailedGetPodsMetric", "FailedGetResourceMetric",
        "FailedGetContainerResourceMetric", "FailedGetExternalMetric", "InvalidMetricSourceType",
        "ScaleUpLimit", "ScaleDownLimit", "TooManyReplicas", "TooFewReplicas", "DesiredWithinRange",
        "ScaledToZero", "NotScaledToZero",
    } == set(reasons)  # fmt: skip
