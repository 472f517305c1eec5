"""Whole reconciles of an autoscaler with `podSelection: Owned`."""

import asyncio
import json

import msgspec
import pytest

from scaler.algorithm.observed import OwnerReference
from scaler.algorithm.readings import PodSample, PodSamples
from scaler.control.target_pods import OWNED_AT_ONCE_MAX
from tests.unit.scaler.cluster.test_pod_owners import REPLICA_SETS, WEB, Owned, item
from tests.unit.scaler.control.test_repeated_decisions import repeated
from tests.unit.scaler.control.world import POD, SPEC, World, autoscaler
from wire.api.labels import parse

TARGET_AVERAGE = {"type": "AverageValue", "averageValue": "10"}
PODS_METRIC = {
    "type": "Pods",
    "pods": {"metric": {"name": "connections"}, "target": TARGET_AVERAGE},
}


def controlled(name, by):
    reference = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name=by, uid=f"uid-of-{by}", controller=True
    )
    metadata = msgspec.structs.replace(POD.metadata, name=name, owner_references=(reference,))
    status = msgspec.structs.replace(POD.status, phase="Running")
    return msgspec.structs.replace(POD, metadata=metadata, status=status)


@pytest.fixture
async def made():
    """Two pods of the target with 20 connections, and two of another Deployment with 90."""
    owned = Owned()
    owned.server.objects[REPLICA_SETS] = [item("web-a", WEB), item("other")]
    spec = {**SPEC, "metrics": [PODS_METRIC], "podSelection": "Owned"}
    world = World(
        PodSamples(
            {
                name: PodSample(value_milli=value)
                for name, value in (("web-1", 20_000), ("web-2", 20_000), ("x-1", 90_000))
            }
        ),
        object=autoscaler(spec=spec),
        owners=owned.owners,
        copies=True,
    )
    world.target_uid = "uid-of-web"
    world.pods.pods = tuple(
        controlled(name, by)
        for name, by in (("web-1", "web-a"), ("web-2", "web-a"), ("x-1", "other"))
    )
    world.scaled(2)
    yield owned, world
    for task in owned.tasks.values():
        task.cancel()


async def test_the_pods_of_others_do_not_raise_the_replicas(made):
    _, world = made
    await world.reconcile_and_keep(world.measurements.readings)
    assert world.replicas == 4
    assert world.conditions()["PodsNotOwned"] == ("True", "OtherPods")


async def test_without_the_right_to_list_owners_nothing_is_scaled(made):
    owned, world = made
    owned.server.objects.clear()
    await world.reconcile_and_keep(world.measurements.readings)
    assert world.replicas == 2
    assert world.conditions()["PodsNotOwned"] == ("True", "OwnersUnknown")
    assert world.conditions()["ScalingActive"] == ("False", "FailedGetPodsMetric")


async def test_autoscalers_of_other_targets_that_go_by_owners_do_not_conflict(made):
    _, world = made
    world.selectors.appear("shop/other")
    world.selectors.store("shop/other", parse("app=web"), by_owner=True)
    await world.reconcile()
    assert world.conditions()["ScalingActive"] == ("True", "ValidMetricFound")
    world.selectors.store("shop/other", parse("app=web"))
    await world.reconcile()
    assert world.conditions()["ScalingActive"] == ("False", "AmbiguousSelector")


async def test_a_decision_is_kept_only_while_the_target_owns_the_same_pods(made):
    owned, world = made
    world.scaled(4)
    for _ in range(4):
        world.passes(15)
        await world.reconcile_and_keep(world.measurements.readings)
    assert (repeated(world), world.replicas) == (2, 4)
    adopted = {"type": "MODIFIED", "object": item("other", WEB)}
    owned.server.pushed.put_nowait(json.dumps(adopted).encode())
    for _ in range(20):
        await asyncio.sleep(0)
    await world.reconcile_and_keep(world.measurements.readings)
    assert (repeated(world), world.replicas) == (2, 8)


async def test_the_owners_of_many_pods_are_found_with_pauses_only(made):
    """To find them at once, to see whether nothing has changed, would delay everything else in each period."""
    _, world = made
    others = (controlled(f"x-{number}", "other") for number in range(2, OWNED_AT_ONCE_MAX))
    world.pods.pods = (*world.pods.pods, *others)
    world.scaled(4)
    for _ in range(4):
        world.passes(15)
        await world.reconcile_and_keep(world.measurements.readings)
    assert (repeated(world), world.replicas) == (0, 4)
    assert world.conditions()["PodsNotOwned"] == ("True", "OtherPods")
