"""A new LoadAutoscaler whose target is at zero knows whether the scaler has set that, for one that was deleted."""

import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from tests.unit.scaler.control.world import SPEC, World, autoscaler
from wire.api.status import forbidden, internal_error

TARGETS = "/apis/apps/v1/namespaces/shop/deployments"
REPLICAS = {"f:spec": {"f:replicas": {}}}


def managed(manager, subresource="", fields=None):
    return {
        "manager": manager,
        "operation": "Update",
        "subresource": subresource,
        "fieldsV1": fields or REPLICAS,
    }


SCALER = managed("loadline-scaler", "scale")
TEMPLATE = managed("kubectl", fields={"f:spec": {"f:template": {".": {}, "f:spec": {}}}})


def at_zero(*managed_fields, min_replicas=1, **options):
    """A new autoscaler, and its target at zero."""
    spec = {**SPEC, "minReplicas": min_replicas}
    world = World(object=autoscaler(spec=spec), **options)
    world.scaled(0)
    other = {"name": "web-2", "managedFields": [SCALER]}
    found = {"name": "web", "managedFields": [TEMPLATE, *managed_fields]}
    world.kube.serve(TARGETS, {"items": [{"metadata": other}, {"metadata": found}]})
    return world


def lists(world):
    return [params for path, params in world.kube.requested if path == TARGETS]


@pytest.mark.parametrize("min_replicas", [1, 3])
async def test_a_zero_of_the_scaler_ends_at_the_minimum(min_replicas):
    world = at_zero(SCALER, min_replicas=min_replicas)
    assert await world.sync(5) == min_replicas
    assert lists(world) == [{"fieldSelector": "metadata.name=web"}]


async def test_with_a_minimum_of_zero_it_ends_with_the_load():
    world = at_zero(SCALER, min_replicas=0)
    assert await world.sync(0) == 0
    assert world.conditions()["ScaledToZero"][0] == "True"
    assert await world.sync(30) > 0
    assert len(lists(world)) == 1


@pytest.mark.parametrize(
    "managed_fields",
    [
        pytest.param([], id="before managedFields"),
        pytest.param([managed("kubectl", "scale")], id="kubectl scale"),
        pytest.param([managed("kubectl-client-side-apply")], id="kubectl apply"),
        pytest.param([SCALER, managed("argocd-controller")], id="both"),
        pytest.param([managed("loadline-scaler")], id="not by the scale"),
        pytest.param([managed("kube-controller-manager", "scale")], id="the HPA controller"),
    ],
)
async def test_a_zero_of_another_client_disables_it(managed_fields):
    world = at_zero(*managed_fields)
    assert await world.sync(30) == 0
    assert world.conditions()["ScalingActive"] == ("False", "ScalingDisabled")
    assert await world.sync(30) == 0
    assert len(lists(world)) == 1


async def test_a_zero_of_a_user_after_the_first_reconcile_disables_it():
    world = at_zero(SCALER)
    world.scaled(3)
    await world.sync(30)
    world.scaled(0)
    assert await world.sync(30) == 0
    assert lists(world) == []


async def test_without_the_right_to_list_targets_it_stays_at_zero():
    world = at_zero(SCALER)
    world.kube.answers[TARGETS] = forbidden("you may not list deployments")
    assert await world.sync(30) == 0
    assert world.conditions()["ScalingActive"] == ("False", "ScalingDisabled")


async def test_while_the_target_cannot_be_read_nothing_is_decided(caplog):
    world = at_zero(SCALER)
    served = world.kube.answers[TARGETS]
    world.kube.answers[TARGETS] = internal_error("etcd")
    assert await world.sync(5) == 0
    assert world.kube.put == []
    assert "not scaled" in caplog.text
    world.kube.answers[TARGETS] = served
    assert await world.sync(5) == 1


async def test_an_hpa_behaves_as_upstream():
    world = at_zero(SCALER, kind=HORIZONTAL_POD_AUTOSCALERS, zero=True)
    assert await world.sync(30) == 0
    assert lists(world) == []
