"""In which decisions the HPA controllers of the supported Kubernetes versions differ.

Each case is true of one minor version, and false with the trait of another one.
"""

import msgspec
import pytest

from scaler.algorithm.decision import ErrorClass, NotNeeded, Rescaled, RescaleFailed
from scaler.algorithm.observed import Observed, ScaleUnavailable
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import (
    AutoscalerStatus,
    Behavior,
    CrossVersionObjectReference,
    MetricIdentifier,
    MetricSpec,
    ObjectMetricSource,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import NEWEST, OLDEST, UPSTREAMS, minor_of, upstream_of
from tests.unit.scaler.objects import (
    NOW,
    autoscaler,
    average,
    decided,
    external,
    observed,
    recommended,
    rules,
    spec,
)

FREE = Behavior(scale_down=rules())
BOTH = pytest.mark.parametrize("minor", [36, 37])


def of(minor, **changes):
    """Flags of an HPA of this version."""
    return msgspec.structs.replace(Settings(), upstream=upstream_of(minor), **changes)


def reconciled(seen, readings, settings, *, actuation=None, controlled_by=("shop/web",)):
    decision = decided(
        seen,
        readings,
        memory=recommended((1, 900)),
        settings=settings,
        controlled_by=controlled_by,
    )
    return settle(decision, actuation or (Rescaled() if decision.rescale else NotNeeded()), NOW)


def queue(length):
    return (ExternalValues((length * 1000,)),)


def conditions(outcome):
    return {each.type: (each.status, each.reason) for each in outcome.status.conditions or ()}


@pytest.mark.parametrize(
    ("minor", "names"),
    [(36, {"AbleToScale", "ScalingActive", "ScalingLimited"}),
     (37, {"AbleToScale", "ScalingActive", "ScalingLimited", "ScaledToZero"})],
)  # fmt: skip
def test_every_rescale_says_since_1_37_that_it_was_not_to_zero(minor, names):
    outcome = reconciled(observed(spec(), replicas=3), queue(50), of(minor))
    assert set(conditions(outcome)) == names


@pytest.mark.parametrize(("minor", "generation"), [(36, None), (37, 7)])
@pytest.mark.parametrize(
    ("seen", "readings", "actuation"),
    [
        pytest.param(observed(spec(), replicas=3), queue(30), None, id="success"),
        pytest.param(observed(spec(), replicas=3), (MetricFailed("down"),), None, id="every metric failed"),
        pytest.param(observed(spec(), replicas=3), queue(50), RescaleFailed("conflict"), id="the scale was not written"),
        pytest.param(observed(spec(), replicas=0), (), None, id="zero replicas disable"),
    ],
)  # fmt: skip
def test_the_generation_is_observed_where_the_status_is_made_again(
    minor, generation, seen, readings, actuation
):
    outcome = reconciled(seen, readings, of(minor), actuation=actuation)
    assert outcome.status.observed_generation == generation


@BOTH
def test_without_a_scale_the_generation_that_was_observed_before_stays(minor):
    status = AutoscalerStatus(observed_generation=2)
    seen = Observed(
        autoscaler=autoscaler(spec(), status=status), scale=ScaleUnavailable(message="gone")
    )
    assert seen.autoscaler.metadata.generation != 2
    assert reconciled(seen, (), of(minor)).status.observed_generation == 2


def test_a_status_without_a_scale_gets_no_generation_that_was_never_observed():
    seen = Observed(autoscaler=autoscaler(spec()), scale=ScaleUnavailable(message="gone"))
    assert reconciled(seen, (), of(37)).status.observed_generation is None


def test_an_object_from_before_generations_is_written_once_with_an_explicit_0():
    seen = observed(spec(), replicas=3)
    without = msgspec.structs.replace(seen.autoscaler.metadata, generation=0)
    old = msgspec.structs.replace(seen.autoscaler, metadata=without)
    first = reconciled(msgspec.structs.replace(seen, autoscaler=old), queue(30), of(37))
    assert b'"observedGeneration":0' in msgspec.json.encode(first.status)
    idle = msgspec.structs.replace(old, status=first.status)
    second = reconciled(msgspec.structs.replace(seen, autoscaler=idle), queue(30), of(37))
    assert (first.status_changed, second.status_changed) == (True, False)


HITS = MetricSpec(
    type="Object",
    object=ObjectMetricSource(
        metric=MetricIdentifier(name="q"),
        target=average("1"),
        described_object=CrossVersionObjectReference(kind="Deployment", name="d"),
    ),
)
CAUSE = "unable to fetch metrics from custom metrics API: E"


@pytest.mark.parametrize(
    ("minor", "message"),
    [
        (36, f"unable to get metric q: Deployment on shop d/{CAUSE}"),
        (37, f"unable to get metric q on Deployment shop/d: {CAUSE}"),
    ],
)
def test_the_error_of_an_object_metric_is_readable_since_1_37(minor, message):
    outcome = reconciled(observed(spec(HITS), replicas=3), (MetricFailed(CAUSE),), of(minor))
    assert [each.message for each in outcome.events] == [message]


@pytest.mark.deviation("ambiguous-names")
@pytest.mark.parametrize(
    ("settings", "rest"),
    [
        pytest.param(of(36), "multiple HPAs: [shop/a shop/b shop/c]", id="1.36: all of them"),
        pytest.param(of(37), "more than one HPA (e.g. [shop/a shop/b])", id="1.37: two of them"),
        pytest.param(
            of(37, gated_traits={"names_two_of_ambiguous": False}).of_version(NEWEST),
            "more than one HPA (e.g. [shop/a shop/b shop/c])",
            id="1.37 with HPAOptimizedSelectorStore=false",
        ),
    ],
)
def test_an_ambiguous_selector_names_other_autoscalers_by_version(settings, rest):
    keys = ("shop/a", "shop/b", "shop/c")
    outcome = reconciled(observed(spec(), replicas=3), (), settings, controlled_by=keys)
    text = f"pods by selector app=web are controlled by {rest}"
    assert [each.message for each in outcome.events] == [text]
    assert [each.message for each in outcome.events_after_status] == [text]
    assert conditions(outcome)["ScalingActive"] == ("False", "AmbiguousSelector")


UNKNOWN = MetricSpec(type="Weather")


@pytest.mark.parametrize(
    ("metrics", "readings"),
    [
        pytest.param((UNKNOWN,), (MetricFailed(""),), id="alone"),
        pytest.param((UNKNOWN, external(average("10"))), (MetricFailed(""), *queue(50)), id="beside one that works"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("minor", "label"), [(36, ErrorClass.INTERNAL), (37, ErrorClass.SPEC)])
def test_an_unknown_type_of_metric_is_an_error_of_the_spec_since_1_37(
    metrics, readings, minor, label
):
    outcome = reconciled(observed(spec(*metrics), replicas=3), readings, of(minor))
    assert outcome.error_class is label
    # The counter of each metric has always said so.
    assert outcome.derivation.metrics[0].is_spec_error


def test_only_the_first_failed_metric_makes_it_an_error_of_the_spec():
    metrics = (external(average("10")), UNKNOWN)
    failed = (MetricFailed("down"), MetricFailed(""))
    outcome = reconciled(observed(spec(*metrics), replicas=3), failed, of(37))
    assert outcome.error_class is ErrorClass.INTERNAL


@pytest.mark.parametrize(
    ("minor", "replicas", "condition"),
    [(36, 0, None), (37, 0, ("True", "ScaledToZero"))],
)
def test_an_hpa_remembers_that_it_has_scaled_to_zero_since_1_37(minor, replicas, condition):
    seen = observed(spec(min_replicas=0, behavior=FREE), replicas=3)
    outcome = reconciled(seen, queue(0), of(minor))
    assert outcome.status.desired_replicas == replicas
    assert conditions(outcome).get("ScaledToZero") == condition


def test_an_hpa_leaves_its_zero_since_1_37_and_stays_there_before():
    of_spec = spec(min_replicas=0, behavior=FREE)
    slept = reconciled(observed(of_spec, replicas=3), queue(0), of(37)).status
    awake = observed(of_spec, replicas=0, status=slept)
    woken = reconciled(awake, queue(25), of(37))
    assert woken.status.desired_replicas == 3
    assert [each.message for each in woken.events] == [
        "New size: 3; reason: external metric queue(nil) above target"
    ]
    assert conditions(woken)["ScaledToZero"] == ("False", "NotScaledToZero")
    assert reconciled(awake, queue(25), of(36)).status.desired_replicas == 0


ZERO = {"scale_to_zero": True}


def test_1_35_and_1_36_differ_only_in_the_condition_of_a_zero():
    assert msgspec.structs.replace(upstream_of(35), minor=36, marks_zero=True) == upstream_of(36)


@pytest.mark.parametrize(("minor", "has_condition"), [(35, False), (36, True)])
def test_a_rescale_has_the_condition_of_a_zero_since_1_36_with_the_gate(minor, has_condition):
    outcome = reconciled(observed(spec(), replicas=3), queue(50), of(minor, **ZERO))
    assert ("ScaledToZero" in conditions(outcome)) is has_condition


@pytest.mark.parametrize(("minor", "replicas"), [(35, 3), (36, 0), (37, 0)])
def test_a_zero_of_a_user_is_left_before_1_36_if_the_minimum_is_zero(minor, replicas):
    seen = observed(spec(min_replicas=0, behavior=FREE), replicas=0)
    assert reconciled(seen, queue(25), of(minor, **ZERO)).status.desired_replicas == replicas


@pytest.mark.parametrize(("minor", "replicas"), [(35, 0), (36, 3), (37, 3)])
def test_a_zero_of_the_controller_is_left_since_1_36_if_the_minimum_was_raised(minor, replicas):
    slept = reconciled(
        observed(spec(min_replicas=0, behavior=FREE), replicas=3), queue(0), of(37)
    ).status
    awake = observed(spec(min_replicas=1, behavior=FREE), replicas=0, status=slept)
    assert reconciled(awake, queue(25), of(minor, **ZERO)).status.desired_replicas == replicas


@pytest.mark.parametrize(("minor", "is_left"), [(35, True), (36, False)])
def test_without_the_gate_a_condition_of_a_zero_is_removed_since_1_36(minor, is_left):
    slept = reconciled(
        observed(spec(min_replicas=0, behavior=FREE), replicas=3), queue(0), of(37)
    ).status
    seen = observed(spec(), replicas=3, status=slept)
    assert ("ScaledToZero" in conditions(reconciled(seen, queue(50), of(minor)))) is is_left


@pytest.mark.deviation("newest-version")
def test_a_load_autoscaler_follows_no_server():
    assert not LOAD_AUTOSCALERS.follows_server_version
    assert HORIZONTAL_POD_AUTOSCALERS.follows_server_version


@pytest.mark.parametrize(
    ("version", "minor"),
    [("1.37", 37), ("v1.36.3", 36), ("v1.37.2-eks-1a2b3c", 37), ("1.35+", 35), ("v1.37.0+k3s1", 37)],
)  # fmt: skip
def test_the_version_of_a_provider_is_read(version, minor):
    assert minor_of(version) == minor


@pytest.mark.parametrize("version", ["", "2.1", "1", "latest", "1.x", "1.37x"])
def test_anything_else_is_refused(version):
    with pytest.raises(ValueError, match=r"is not a Kubernetes version such as 1\.37"):
        minor_of(version)


def test_an_unknown_version_has_the_nearest_known_controller():
    assert upstream_of(38) is NEWEST
    assert upstream_of(19) is OLDEST
    assert [upstream_of(each.minor) for each in UPSTREAMS] == list(UPSTREAMS)
