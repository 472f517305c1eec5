"""`podReadiness.requests: Actual`: a utilization is that of the requests that a pod has, not of those it is to have."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import ContainerStatus, PodSpec, ResourceRequirements
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.api.extension_spec import PodReadiness
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    average,
    container,
    container_resource,
    decided,
    few_examples,
    observed,
    pod,
    replaced,
    resource,
    rules,
    samples,
    spec,
    utilization,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
FREE = Behavior(scale_up=rules(), scale_down=rules())
CPU = resource(utilization(50))
SIDECAR = container("proxy", restart_policy="Always", cpu="1")
STARTING = container("migrate", cpu="8")


def with_status(one, *, init=(), pod_level=None, **actual):
    """The pod with these containers as its node has them: `app="1"` for a request of 1 CPU."""
    status = msgspec.structs.replace(
        one.status,
        container_statuses=tuple(applied(name, amount) for name, amount in actual.items()),
        init_container_statuses=tuple(init),
        resources=pod_level,
    )
    return msgspec.structs.replace(one, status=status)


def applied(name, amount, of="cpu"):
    requests = ResourceRequirements(requests={of: amount})
    return ContainerStatus(name=name, resources=None if amount is None else requests)


def wanted(*containers, init=(), resources=None):
    return PodSpec(containers=containers, init_containers=tuple(init), resources=resources)


def decision(one, usage_milli, *, requests="Actual", metric=CPU, replicas=4):
    """`replicas` pods like this one, each with this usage."""
    of = spec(metric, behavior=FREE)
    of = replaced(of, pod_readiness=PodReadiness(requests=requests))
    target_pods = tuple(
        msgspec.structs.replace(
            one, metadata=msgspec.structs.replace(one.metadata, name=f"web-{index}")
        )
        for index in range(replicas)
    )
    return decided(
        observed(of, replicas=replicas),
        (samples({each.metadata.name: usage_milli for each in target_pods}),),
        memory=Memory(recommendations=()),
        settings=LA,
        target_pods=target_pods,
    )


UP = with_status(pod("a", spec=wanted(container("app", cpu="4"))), app="1")
DOWN = with_status(pod("a", spec=wanted(container("app", cpu="1"))), app="4")


@pytest.mark.parametrize(
    ("requests", "one", "usage_milli", "expected"),
    [
        pytest.param("Desired", UP, 900, 2, id="1 to 4 CPU: 22% of what they are to have"),
        pytest.param("", UP, 900, 2, id="the default is that of an HPA"),
        pytest.param("Actual", UP, 900, 8, id="1 to 4 CPU: 90% of what they have"),
        pytest.param("Desired", DOWN, 900, 8, id="4 to 1 CPU: 90% of what they are to have"),
        pytest.param("Actual", DOWN, 900, 2, id="4 to 1 CPU: 22% of what they have"),
    ],
)
def test_a_resize_in_progress_counts_as_far_as_it_is_applied(requests, one, usage_milli, expected):
    assert decision(one, usage_milli, requests=requests).desired_replicas == expected


FOUR = wanted(container("app", cpu="4"))


@pytest.mark.parametrize(
    ("one", "percent"),
    [
        pytest.param(pod("a", spec=FOUR), 25, id="a node that reports no resources"),
        pytest.param(with_status(pod("a", spec=FOUR), app=None), 25, id="not running yet"),
        pytest.param(with_status(pod("a", spec=FOUR), other="1"), 25, id="an unknown container"),
        pytest.param(with_status(pod("a", spec=FOUR), app="4"), 25, id="a resize that is over"),
        pytest.param(
            msgspec.structs.replace(
                UP,
                status=msgspec.structs.replace(
                    UP.status, container_statuses=(applied("app", "1", of="memory"),)
                ),
            ),
            25,
            id="another resource",
        ),
        pytest.param(
            with_status(
                pod("a", spec=wanted(container("app", cpu="4"), init=(SIDECAR,))),
                app="4",
                init=[applied("proxy", "6")],
            ),
            10,
            id="a sidecar",
        ),
        pytest.param(
            with_status(
                pod("a", spec=wanted(container("app", cpu="4"), init=(STARTING,))),
                init=[applied("migrate", "1")],
            ),
            25,
            id="an init container does not count",
        ),
        pytest.param(
            with_status(
                pod(
                    "a",
                    spec=wanted(
                        container("app"), resources=ResourceRequirements(requests={"cpu": "4"})
                    ),
                ),
                pod_level=ResourceRequirements(requests={"cpu": "2"}),
            ),
            50,
            id="requests of the whole pod",
        ),
    ],
)
def test_requests_that_are_not_applied_are_those_of_the_spec(one, percent):
    [metric] = decision(one, 1_000).derivation.metrics
    assert metric.utilization_percent == percent


def test_a_request_that_the_spec_no_longer_has_is_missing():
    one = with_status(pod("a", spec=wanted(container("app"))), app="1")
    [metric] = decision(one, 900).derivation.metrics
    assert metric.failure.endswith("missing request for cpu in container app of Pod web-0")


def test_a_container_resource_is_that_of_its_container():
    metric = container_resource(utilization(50))
    assert decision(UP, 900, metric=metric).desired_replicas == 8


def test_an_average_value_does_not_depend_on_requests():
    metric = resource(average("450m"))
    assert decision(UP, 900, metric=metric).desired_replicas == 8
    found = settle(decision(UP, 900, metric=metric), NotNeeded(), NOW).status.decision
    assert found is not None
    assert found.held_by == ""


def test_users_read_which_pods_are_not_resized_yet():
    found = decision(UP, 900, replicas=7)
    assert explain(found.derivation, EXTENSIONS).splitlines()[-1].strip() == (
        "Pods that are not resized yet count with the requests that they have. These are web-0, web-1, web-2, web-3, web-4"
        " and 2 more. With the requests of the specs, the metrics propose 4."
    )
    outcome = settle(found, NotNeeded(), NOW)
    condition = {each.type: each for each in outcome.status.conditions or ()}["ActualRequests"]
    assert (condition.status, condition.reason) == ("True", "ResizeInProgress")
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "ActualRequests"


def test_the_condition_ends_with_the_resize():
    outcome = settle(decision(pod("a", spec=FOUR), 2_000), NotNeeded(), NOW)
    condition = {each.type: each for each in outcome.status.conditions or ()}["ActualRequests"]
    assert (condition.status, condition.reason) == ("False", "NoResize")
    assert condition.message == "all pods have the requests of their specs"


amounts = st.integers(1, 64).map(lambda eighths: f"{eighths * 125}m")


@few_examples
@given(desired=amounts, actual=amounts, usage_milli=st.integers(0, 16_000))
def test_it_decides_as_an_hpa_of_pods_whose_specs_are_what_they_have(desired, actual, usage_milli):
    resized = with_status(pod("a", spec=wanted(container("app", cpu=desired))), app=actual)
    settled = pod("a", spec=wanted(container("app", cpu=actual)))
    found = decision(resized, usage_milli).desired_replicas
    assert found == decision(settled, usage_milli, requests="Desired").desired_replicas
