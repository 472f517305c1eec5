"""The value of a metric that a user gives, as the metrics API would return it."""

import pytest

from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.pod_groups import group_pods
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.simulated_readings import simulated
from tests.unit.scaler.objects import (
    NOW,
    average,
    container,
    container_resource,
    external,
    pod,
    resource,
    spec,
    utilization,
)

TWO = PodSpec(containers=(container("app", cpu="200m"), container("proxy", cpu="50m")))
PODS = (pod("web-0", spec=TWO), pod("web-1", spec=TWO, phase="Pending"))


@pytest.mark.parametrize(
    ("metric", "value", "milli"),
    [
        pytest.param(resource(utilization(70)), "100m", 100, id="a quantity of one pod"),
        pytest.param(resource(utilization(70)), "140%", 350, id="of the requests of the pod"),
        pytest.param(container_resource(utilization(70)), "50%", 100, id="of one container"),
        pytest.param(resource(utilization(70)), "12.5%", 31, id="a part of a percent"),
    ],
)
def test_each_running_pod_has_the_value(metric, value, milli):
    found = simulated(metric, value, PODS, pod_level_resources=True)
    assert {name: each.value_milli for name, each in found.by_pod.items()} == {"web-0": milli}


def test_a_given_cpu_counts_for_a_pod_that_has_just_turned_ready():
    young = pod("web-0", spec=TWO, started_seconds_ago=20, turned_seconds_ago=5)
    starting = pod("web-1", spec=TWO, started_seconds_ago=20, turned_seconds_ago=20, ready="False")
    pods = (young, starting)
    found = simulated(resource(utilization(70)), "90%", pods, pod_level_resources=True)
    policy = policy_of(spec(), Settings())
    groups = group_pods(pods, found.by_pod, resource="cpu", policy=policy, moment=Moment(NOW))
    assert (groups.ready, groups.unready) == (("web-0",), ("web-1",))


def test_an_external_metric_has_the_value_once():
    assert simulated(
        external(average("10")), "7", PODS, pod_level_resources=True
    ) == ExternalValues((7_000,))


@pytest.mark.parametrize(
    ("metric", "value", "problem"),
    [
        pytest.param(external(average("10")), "140%", "140%", id="a percentage of a metric"),
        pytest.param(
            resource(utilization(70), name="memory"),
            "140%",
            "140% of the requests: missing request for memory",
            id="nothing is requested",
        ),
    ],
)
def test_a_value_that_the_metric_cannot_have_is_named(metric, value, problem):
    with pytest.raises(ValueError, match=problem):
        simulated(metric, value, PODS, pod_level_resources=True)
