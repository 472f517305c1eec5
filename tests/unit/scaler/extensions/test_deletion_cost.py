"""`behavior.scaleDown.podDeletionCost`: the least busy pods go first."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import PodAnnotation
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import DELETION_COST, PodAnnotations
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


def marked(name, cost="-1", **changes):
    found = pod(name, **changes)
    annotations = PodAnnotations(deletion_cost=cost)
    metadata = msgspec.structs.replace(found.metadata, annotations=annotations)
    return msgspec.structs.replace(found, metadata=metadata)


def cost(pod_name, value):
    return PodAnnotation(
        pod_name=pod_name, name=DELETION_COST, value=value, failed_reason="FailedPodDeletionCost"
    )


def first(*names):
    return tuple(cost(name, "-1") for name in names)


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
            (*first("web-1"), cost("web-2", None)),
            id="one that has become busy is no longer marked",
        ),
        pytest.param(
            (pod("web-0"), marked("web-1", deleted=True)), 1, first("web-0"), id="one is leaving"
        ),
        pytest.param((marked("web-2", "100"), *pods(1)), 1, first("web-0"), id="another's mark"),
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
    target_pods = [
        marked(f"web-{n}") if n in already else pod(f"web-{n}") for n in range(len(loads))
    ]
    reading = samples({f"web-{n}": load for n, load in enumerate(loads)})
    costs = {f"web-{n}" for n in already if n < len(loads)}
    for change in deletion_costs(
        "connections", [Signal(CONNECTIONS, reading)], target_pods, deleted=deleted
    ):
        (costs.add if change.value else costs.discard)(change.pod_name)
    assert len(costs) == min(deleted, len(loads))
    busiest_marked = max(reading.by_pod[name].value_milli for name in costs)
    others = [each.value_milli for name, each in reading.by_pod.items() if name not in costs]
    assert all(busiest_marked <= load for load in others)


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
