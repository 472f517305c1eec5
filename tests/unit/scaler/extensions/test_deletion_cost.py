"""`behavior.scaleDown.podDeletionCost`: the least busy pods go first."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import PodPatch
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import DELETION_COST, OWN_DELETION_COST, PodAnnotations
from scaler.algorithm.readings import ExternalValues, MetricFailed, Signal
from scaler.api.autoscaler import Behavior, ScaleDownRules
from scaler.api.extension_spec import PodDeletionCost
from scaler.extensions.deletion_cost import deletion_costs
from tests.unit.scaler.objects import (
    average,
    decided,
    external,
    few_examples,
    named,
    observed,
    of_pods,
    pod,
    pods,
    replaced,
    rules,
    samples,
    spec,
)

CONNECTIONS = named(of_pods(average("10")), "connections", use="Input")


def annotated(found, cost, own=""):
    annotations = PodAnnotations(deletion_cost=cost, own_deletion_cost=own)
    metadata = msgspec.structs.replace(found.metadata, annotations=annotations)
    return msgspec.structs.replace(found, metadata=metadata)


def marked(name, **changes):
    """By the scaler."""
    return annotated(pod(name, **changes), "-1", "-1")


def costing(name, cost, own=""):
    """A pod whose cost a user has set."""
    return annotated(pod(name), cost, own)


def patch(pod_name, **values):
    """The pods of these tests have no resourceVersion."""
    names = {"cost": DELETION_COST, "own": OWN_DELETION_COST}
    return PodPatch(
        pod_name=pod_name,
        resource_version="",
        annotations={names[key]: value for key, value in values.items()},
        failed_reason="FailedPodDeletionCost",
    )


def first(*names):
    return tuple(patch(name, cost="-1", own="-1") for name in names)


def not_first(name):
    return patch(name, cost=None, own=None)


USAGE = samples({"web-0": 5_000, "web-1": 1_000, "web-2": 9_000, "web-3": 1_000})


@pytest.mark.parametrize(
    ("target_pods", "deleted", "expected"),
    [
        pytest.param(pods(4), 1, first("web-1"), id="the least busy one"),
        pytest.param(pods(4), 3, first("web-0", "web-1", "web-3"), id="the least busy three"),
        pytest.param(
            (marked("web-1"), *pods(1)), 1, (), id="one that is marked already is not written"
        ),
        pytest.param(
            (*pods(2), marked("web-2")),
            1,
            (*first("web-1"), not_first("web-2")),
            id="one that has become busy is no longer marked",
        ),
        pytest.param(
            (pod("web-0"), marked("web-1", deleted=True)), 1, first("web-0"), id="one is leaving"
        ),
        pytest.param(
            (costing("web-2", "100"), *pods(1)), 1, first("web-0"), id="a user's cost of a busy pod"
        ),
        pytest.param(
            (pod("web-0"), costing("web-1", "100")), 1, first("web-0"), id="a pod that a user keeps"
        ),
        pytest.param(
            (pod("web-0"), costing("web-1", "0")), 1, first("web-0"), id="a user's cost of zero"
        ),
        pytest.param(
            (pod("web-0"), costing("web-2", "-1")), 1, (), id="the pod that a user lets go first"
        ),
        pytest.param(
            (*pods(2), costing("web-2", "-5")), 2, first("web-1"), id="a user's choice counts"
        ),
        pytest.param(
            (pod("web-1"), costing("web-2", "-1")),
            3,
            first("web-1"),
            id="a cost of -1 without the scaler's note is not removed",
        ),
        pytest.param(
            (pod("web-0"), costing("web-1", "7", own="-1")),
            1,
            (*first("web-0"), patch("web-1", own=None)),
            id="a user has changed the cost that the scaler had set",
        ),
        pytest.param(
            (pod("web-0"), costing("web-1", "", own="-1")),
            1,
            first("web-1"),
            id="a user has removed the cost that the scaler had set",
        ),
        pytest.param((pod("new"), *pods(1)), 1, first("web-0"), id="a pod without a sample"),
        pytest.param((pod("new"),), 1, (), id="no samples at all"),
    ],
)
def test_the_least_busy_pods_get_the_lowest_cost(target_pods, deleted, expected):
    found = deletion_costs(
        "connections", [Signal(CONNECTIONS, USAGE)], target_pods, deleted=deleted
    )
    assert found == expected


def test_a_metric_that_failed_marks_no_pod():
    reading = MetricFailed("down")
    assert deletion_costs("connections", [Signal(CONNECTIONS, reading)], pods(4), deleted=1) == ()


@few_examples
@given(
    loads=st.lists(st.integers(0, 50), min_size=1, max_size=20),
    already=st.sets(st.integers(0, 19)),
    deleted=st.integers(1, 20),
)
def test_after_the_writes_exactly_the_least_busy_pods_are_marked(loads, already, deleted):
    names = [f"web-{n}" for n in range(len(loads))]
    target_pods = [marked(name) if n in already else pod(name) for n, name in enumerate(names)]
    reading = samples({f"web-{n}": load for n, load in enumerate(loads)})
    costs = {f"web-{n}" for n in already if n < len(loads)}
    for change in deletion_costs(
        "connections", [Signal(CONNECTIONS, reading)], target_pods, deleted=deleted
    ):
        (costs.add if change.annotations[DELETION_COST] else costs.discard)(change.pod_name)
    assert len(costs) == min(deleted, len(loads))
    busiest_marked = max(reading.by_pod[name].value_milli for name in costs)
    others = [each.value_milli for name, each in reading.by_pod.items() if name not in costs]
    assert all(busiest_marked <= load for load in others)


def test_a_patch_names_the_version_of_the_pod_that_was_observed():
    found = pod("web-1")
    metadata = msgspec.structs.replace(found.metadata, resource_version="7")
    observed_pod = msgspec.structs.replace(found, metadata=metadata)
    (change,) = deletion_costs(
        "connections", [Signal(CONNECTIONS, USAGE)], [observed_pod], deleted=1
    )
    assert change.resource_version == "7"


COSTS = st.sampled_from(["", "-1", "-5", "0", "100"])


@few_examples
@given(
    costs=st.lists(st.tuples(COSTS, st.sampled_from(["", "-1"])), min_size=1, max_size=12),
    deleted=st.integers(1, 12),
)
def test_a_cost_that_a_user_has_set_is_never_changed(costs, deleted):
    target_pods = [annotated(pod(f"web-{n}"), *each) for n, each in enumerate(costs)]
    reading = samples({f"web-{n}": n for n in range(len(costs))})
    users = {f"web-{n}" for n, (cost, own) in enumerate(costs) if cost not in ("", own)}
    for change in deletion_costs(
        "connections", [Signal(CONNECTIONS, reading)], target_pods, deleted=deleted
    ):
        assert change.pod_name not in users or change.annotations == {OWN_DELETION_COST: None}


@pytest.mark.parametrize(
    ("length", "mode", "names"),
    [
        pytest.param(20, "", ["web-1", "web-3"], id="a scale-down"),
        pytest.param(90, "", [], id="a scale-up"),
        pytest.param(40, "", [], id="no change"),
        pytest.param(20, "DryRun", [], id="a dry run"),
    ],
)
def test_only_a_scale_down_that_is_written_marks_pods(length, mode, names):
    down = ScaleDownRules(
        stabilization_window_seconds=0,
        pod_deletion_cost=PodDeletionCost(metric="connections"),
    )
    of = spec(
        external(average("10")), CONNECTIONS, behavior=Behavior(scale_up=rules(), scale_down=down)
    )
    found = decided(
        observed(replaced(of, mode=mode), replicas=4),
        (ExternalValues((length * 1000,)), USAGE),
        memory=Memory(recommendations=()),
    )
    assert [each.pod_name for each in found.pod_annotations] == names
