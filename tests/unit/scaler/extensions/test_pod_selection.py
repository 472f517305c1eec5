"""`podSelection: Owned`: pods of others with the same labels do not count."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decide import decide
from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import OwnerReference, TargetPods
from scaler.algorithm.owners import INPUT, OWNERS_MAX, Owners, controller_of, owned
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    average,
    external,
    few_examples,
    observed,
    of_pods,
    pod,
    replaced,
    resource,
    rules,
    samples,
    spec,
    utilization,
    value,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
FREE = Behavior(scale_up=rules(), scale_down=rules())
CPU = resource(utilization(50))
TARGET = "uid-of-deployment"
OWNERS = Owners(
    target_uid=TARGET,
    controllers={"uid-of-web": TARGET, "uid-of-other": "uid-of-other-deployment", "uid-of-job": ""},
)


def controlled(name, uid, **changes):
    """A pod that the object with this uid controls."""
    found = pod(name, **changes)
    reference = OwnerReference(kind="Any", name="any", uid=uid, controller=True)
    metadata = msgspec.structs.replace(found.metadata, owner_references=(reference,))
    return msgspec.structs.replace(found, metadata=metadata)


def decision(usage_milli, *, metric=CPU, selection="Owned", owners=OWNERS, other_milli=0):
    """Three pods of the target with this usage, and four others of jobs."""
    of = replaced(spec(metric, behavior=FREE), pod_selection=selection)
    own = {f"web-{index}": usage_milli for index in range(3)}
    others = {f"job-{index}": other_milli for index in range(4)}
    target_pods = [controlled(name, "uid-of-web") for name in own]
    target_pods += [controlled(name, "uid-of-job") for name in others]
    planned = plan(observed(of, replicas=3), Memory(recommendations=()), LA, NOW)
    assert isinstance(planned, Ask)
    pods = TargetPods(
        pods=tuple(target_pods),
        controlled_by=("shop/web",),
        inputs={} if owners is None else {INPUT: owners},
    )
    reading = ExternalValues((30_000,))
    if metric.external is None:
        reading = samples(own | others)
    return decide(planned, pods, (reading,), NOW)


@pytest.mark.parametrize(
    ("selection", "metric", "expected"),
    [
        pytest.param("Labels", CPU, 9, id="as an HPA: 58% of seven pods"),
        pytest.param("", CPU, 9, id="the default is that of an HPA"),
        pytest.param("Owned", CPU, 1, id="10% of three pods"),
        pytest.param("Owned", of_pods(average("500m")), 1, id="samples of others do not count"),
    ],
)
def test_only_owned_pods_count(selection, metric, expected):
    found = decision(100, metric=metric, selection=selection, other_milli=950)
    assert found.desired_replicas == expected


def test_ready_pods_of_others_do_not_multiply_a_target_of_type_value():
    metric = external(value("15"))
    assert decision(0, metric=metric, selection="Labels").desired_replicas == 14
    assert decision(0, metric=metric).desired_replicas == 6


@pytest.mark.parametrize(
    ("uid", "is_owned"),
    [
        pytest.param(TARGET, True, id="of the target itself, as in a StatefulSet"),
        pytest.param("uid-of-web", True, id="of a ReplicaSet of the target"),
        pytest.param("uid-of-other", False, id="of a ReplicaSet of another Deployment"),
        pytest.param("uid-of-job", False, id="of an object that nothing controls"),
        pytest.param("uid-of-nothing", False, id="of an object that is gone"),
    ],
)
def test_a_pod_is_owned_if_the_chain_of_its_controllers_leads_to_the_target(uid, is_owned):
    assert bool(owned([controlled("a", uid)], OWNERS)) is is_owned


def test_a_pod_without_a_controller_is_not_owned():
    one = controlled("a", TARGET)
    [reference] = one.metadata.owner_references
    bare = msgspec.structs.replace(reference, controller=None)
    metadata = msgspec.structs.replace(one.metadata, owner_references=(bare,))
    assert controller_of((bare,)) is None
    assert controller_of((bare, reference)) is reference
    assert owned([pod("b"), msgspec.structs.replace(one, metadata=metadata)], OWNERS) == ()


def test_nothing_is_owned_by_a_target_without_a_uid():
    assert owned([controlled("a", "")], Owners(target_uid="")) == ()


def test_owners_that_own_each_other_do_not_hang():
    circle = Owners(target_uid=TARGET, controllers={"a": "b", "b": "a"})
    assert owned([controlled("a", "a")], circle) == ()


@few_examples
@given(between=st.integers(0, OWNERS_MAX + 2))
def test_chains_are_followed_up_to_a_limit(between):
    uids = [*map(str, range(between)), TARGET]
    chain = Owners(target_uid=TARGET, controllers=dict(itertools.pairwise(uids)))
    found = owned([controlled("a", uids[0])], chain)
    assert bool(found) == (between < OWNERS_MAX)


def test_while_owners_are_not_known_no_metric_is_computed():
    owners = Owners(target_uid=TARGET, problem="/apis/apps/v1/replicasets may not be listed")
    found = decision(900, owners=owners)
    assert (found.desired_replicas, found.rescale) == (None, False)
    assert found.derivation.metrics[0].failure == (
        "failed to get cpu utilization: unable to get metrics for resource cpu: the pods of Deployment/web are not known:"
        " /apis/apps/v1/replicasets may not be listed"
    )
    conditions = conditions_of(found)
    assert conditions["PodsNotOwned"] == (
        "True",
        "OwnersUnknown",
        "no metric is computed, because the pods of Deployment/web are not known: /apis/apps/v1/replicasets may not be listed",
    )
    assert conditions["ScalingActive"][:2] == ("False", "FailedGetResourceMetric")
    of_a_queue = decision(0, metric=external(average("1")), owners=owners)
    assert of_a_queue.desired_replicas is None


def test_simulated_pods_have_no_owners_and_count():
    found = decision(900, owners=None, other_milli=900)
    assert found.desired_replicas == 13
    assert conditions_of(found)["PodsNotOwned"] == (
        "True",
        "OwnersNotRead",
        "the owners of the pods were not read, so all pods that the selector matches count",
    )


def test_users_read_which_pods_do_not_count():
    found = decision(450)
    assert conditions_of(found)["PodsNotOwned"] == (
        "True",
        "OtherPods",
        "pods that the selector matches and Deployment/web does not own do not count",
    )
    assert explain(found.derivation, EXTENSIONS).splitlines()[-1].strip() == (
        "Pods that the selector matches and Deployment/web does not own do not count. These are job-0, job-1, job-2, job-3."
    )
    all_owned = Owners(
        target_uid=TARGET, controllers={"uid-of-web": TARGET, "uid-of-job": "uid-of-web"}
    )
    assert conditions_of(decision(450, owners=all_owned))["PodsNotOwned"] == (
        "False",
        "AllOwned",
        "Deployment/web owns all pods that its selector matches",
    )


def conditions_of(found):
    outcome = settle(found, NotNeeded(), NOW)
    return {
        each.type: (each.status, each.reason, each.message)
        for each in outcome.status.conditions or ()
    }
