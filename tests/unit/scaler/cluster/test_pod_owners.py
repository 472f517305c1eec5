"""The owners of pods, from metadata-only watches that start when they are needed."""

import asyncio
import json

import msgspec
import pytest

from scaler.algorithm.observed import OwnerReference, PodMetadata, PodStatus
from scaler.algorithm.observed import Pod as TargetPod
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.owner_shares import NAMESPACE_RESOURCES_MAX, RESOURCES_MAX, UNUSED_SECONDS
from scaler.cluster.pod_owners import SLICE, PodOwners
from tests.fakes.scaler import FakeMapper, resource
from tests.other_tasks import turns_during
from wire.api.status import StatusError
from wire.kube.object_copy import COPY_AGE_SECONDS_MAX

REPLICA_SETS = "/apis/apps/v1/replicasets"
UNITS = "/apis/example.com/v1/units"
WORKERS = "/apis/example.com/v1/workers"
TARGET = "uid-of-web"
NOT_LISTED = "has not been listed yet"
KINDS = (
    resource("apps", "v1", "replicasets", "ReplicaSet"),
    resource("apps", "v1", "deployments", "Deployment"),
    resource("batch", "v1", "jobs", "Job"),
    resource("example.com", "v1", "units", "Unit"),
    resource("example.com", "v1", "workers", "Worker"),
    *(resource("many.example.com", "v1", f"kind{n}s", f"Kind{n}") for n in range(30)),
)


class Server:
    """Lists objects by path; a path without objects may not be listed. Watches stay open, and send what is pushed."""

    def __init__(self, **objects):
        self.objects = {}
        self.accepted = set()
        self.listed = []
        self.pushed = asyncio.Queue()

    async def get(self, path, params=None, *, accept=""):
        self.listed.append(path)
        self.accepted.add(accept.partition(",")[0])
        if path not in self.objects:
            raise StatusError(f"{path} is forbidden", code=403, reason="Forbidden")
        items = self.objects[path]
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()

    async def watch(self, path, params=None, *, accept="", timeout_seconds=1, on_accepted=None):
        if on_accepted is not None:
            on_accepted()
        while True:
            yield await self.pushed.get()


def reference(kind, name, *, api_version="apps/v1", uid=""):
    return OwnerReference(
        api_version=api_version, kind=kind, name=name, uid=uid or f"uid-of-{name}", controller=True
    )


WEB = reference("Deployment", "web")


def item(name, owner=None, *, namespace="shop", uid=""):
    """An object as a LIST has it, with another owner that does not control it."""
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-of-n"}
    owners = [other] + ([] if owner is None else [msgspec.to_builtins(owner)])
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-of-{name}"}
    return {"metadata": {**metadata, "resourceVersion": "7", "ownerReferences": owners}}


def pod(name, controller=None, *, phase="Running"):
    references = () if controller is None else (controller,)
    metadata = PodMetadata(name=name, namespace="shop", owner_references=references)
    return TargetPod(metadata=metadata, status=PodStatus(phase=phase))


def autoscaler(kind="Deployment", api_version="apps/v1"):
    ref = {"apiVersion": api_version, "kind": kind, "name": "web"}
    document = {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"scaleTargetRef": ref, "maxReplicas": 9},
    }
    return msgspec.convert(document, Autoscaler)


class Owned:
    """Owners over such a server."""

    def __init__(self, namespaces=(), **paths):
        self.server = Server()
        self.seconds = 1_000.0
        self.tasks = {}
        self.owners = PodOwners(
            self.server, FakeMapper(*KINDS), namespaces, self.start, monotonic=lambda: self.seconds
        )

    def start(self, work, name):
        self.tasks[name] = asyncio.create_task(work)
        return self.tasks[name]

    def needs(self, namespace, number):
        """An autoscaler of this namespace has a pod whose owner is of that kind; why that is not known."""
        fleet = autoscaler("Fleet", "example.com/v1")
        metadata = msgspec.structs.replace(fleet.metadata, namespace=namespace)
        found = msgspec.structs.replace(fleet, metadata=metadata)
        owner = reference(f"Kind{number}", "o", api_version="many.example.com/v1")
        return self.owners.of(found, TARGET, [pod("p", owner)]).problem

    async def watched(self):
        """The numbers of the kinds that are watched."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return {
            int(name.rpartition("kind")[2].rstrip("s"))
            for name, task in self.tasks.items()
            if not task.done()
        }

    async def of(self, *pods, target=None):
        found = target or autoscaler()
        await self.owners.listed(found, TARGET, pods)
        return self.owners.of(found, TARGET, pods)


@pytest.fixture
async def world():
    made = Owned()
    yield made
    for task in made.tasks.values():
        task.cancel()
    await asyncio.gather(*made.tasks.values(), return_exceptions=True)


async def test_while_the_owners_of_many_pods_are_found_others_have_their_turn(world):
    count = 10 * SLICE
    world.server.objects[REPLICA_SETS] = [item(f"web-{n}", WEB) for n in range(count)]
    pods = [pod(f"p{n}", reference("ReplicaSet", f"web-{n}")) for n in range(count)]
    await world.of(pods[0])
    found, turns = await turns_during(world.owners.listed(autoscaler(), TARGET, pods))
    assert turns >= 10
    assert found == world.owners.of(autoscaler(), TARGET, pods)
    assert len(found.controllers) == count


async def test_the_chain_from_a_replica_set_to_its_deployment_is_known(world):
    world.server.objects[REPLICA_SETS] = [item("web-a", WEB)]
    found = await world.of(pod("web-a-1", reference("ReplicaSet", "web-a")))
    assert found.controllers == {"uid-of-web-a": TARGET}
    assert found.problem == ""
    assert world.server.listed == [REPLICA_SETS]
    assert world.server.accepted == {
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    }


async def test_a_chain_that_cannot_lead_to_the_target_needs_no_watch(world):
    """A Deployment owns no pods of Jobs, so the right to list these is not needed."""
    of_job = pod("job-1", reference("Job", "job", api_version="batch/v1"))
    found = await world.of(of_job, pod("bare"))
    assert (found.controllers, found.problem, world.server.listed) == ({}, "", [])


async def test_pods_of_a_stateful_set_need_no_watch(world):
    target = autoscaler("StatefulSet")
    found = await world.of(pod("web-0", reference("StatefulSet", "web")), target=target)
    assert (found.problem, world.server.listed) == ("", [])


async def test_custom_kinds_may_have_several_kinds_between(world):
    worker = reference("Worker", "w", api_version="example.com/v1")
    unit = reference("Unit", "u", api_version="example.com/v1")
    target = reference("Fleet", "fleet", api_version="example.com/v1", uid=TARGET)
    world.server.objects[WORKERS] = [item("w", unit)]
    world.server.objects[UNITS] = [item("u", target)]
    fleet = autoscaler("Fleet", "example.com/v1")
    found = await world.of(pod("w-1", worker), target=fleet)
    assert found.controllers == {"uid-of-w": "uid-of-u", "uid-of-u": TARGET}
    assert found.problem == ""


async def test_a_kind_that_may_not_be_listed_is_a_problem(world):
    found = await world.of(pod("web-a-1", reference("ReplicaSet", "web-a")))
    assert found.problem == (
        f"{REPLICA_SETS} has not been listed yet: {REPLICA_SETS} is forbidden. The scaler needs permission to list and watch it:"
        " set rbac.podOwners in its chart"
    )


@pytest.mark.parametrize(
    ("phase", "is_problem"), [("Running", True), ("Pending", True), ("Succeeded", False)]
)
async def test_an_owner_that_is_not_there_matters_for_live_pods_only(world, phase, is_problem):
    world.server.objects[REPLICA_SETS] = [item("web-a", WEB, uid="of another one")]
    one = pod("web-a-1", reference("ReplicaSet", "web-a"), phase=phase)
    found = await world.of(one)
    assert bool(found.problem) is is_problem
    if is_problem:
        assert found.problem == (
            "there is no ReplicaSet web-a with the uid uid-of-web-a, which controls a pod"
        )


async def test_an_owner_that_appears_later_is_found(world):
    world.server.objects[REPLICA_SETS] = []
    one = pod("web-a-1", reference("ReplicaSet", "web-a"))
    assert (await world.of(one)).problem
    event = {"type": "ADDED", "object": item("web-a", WEB)}
    world.server.pushed.put_nowait(json.dumps(event).encode())
    for _ in range(20):
        await asyncio.sleep(0)
    assert (await world.of(one)).controllers == {"uid-of-web-a": TARGET}


async def test_owners_that_were_not_confirmed_for_long_are_a_problem(world):
    world.server.objects[REPLICA_SETS] = [item("web-a", WEB)]
    one = pod("web-a-1", reference("ReplicaSet", "web-a"))
    assert (await world.of(one)).problem == ""
    world.seconds += COPY_AGE_SECONDS_MAX + 1
    assert (await world.of(one)).problem == (
        f"{REPLICA_SETS} was last confirmed by the API server more than 6 minutes ago"
    )


async def test_a_kind_that_the_cluster_does_not_have_is_a_problem(world):
    one = pod("x-1", reference("Nowhere", "x", api_version="nowhere/v1/x"))
    found = await world.of(one, target=autoscaler("Fleet", "example.com/v1"))
    assert "no matches for" in found.problem


async def test_pods_with_owners_of_many_kinds_do_not_start_as_many_watches(world):
    pods = [
        pod(f"p-{n}", reference(f"Kind{n}", f"o{n}", api_version="many.example.com/v1"))
        for n in range(30)
    ]
    found = await world.of(*pods, target=autoscaler("Fleet", "example.com/v1"))
    assert len(world.tasks) == NAMESPACE_RESOURCES_MAX
    assert found.problem
    # An editor of one namespace must not keep the Deployments of others from being scaled.
    world.server.objects[REPLICA_SETS] = [item("web-a", WEB)]
    found = await world.of(pod("web-a-1", reference("ReplicaSet", "web-a")))
    assert (found.problem, found.controllers) == ("", {"uid-of-web-a": TARGET})


async def test_the_kinds_of_one_namespace_leave_space_for_those_of_others(world):
    fleet = autoscaler("Fleet", "example.com/v1")
    for number in range(30):
        kind = reference(f"Kind{number}", "o", api_version="many.example.com/v1")
        namespace = f"n{number // 10}"
        metadata = msgspec.structs.replace(fleet.metadata, namespace=namespace)
        found = msgspec.structs.replace(fleet, metadata=metadata)
        world.owners.of(found, TARGET, [pod("p", kind)])
    assert len(world.tasks) == 3 * NAMESPACE_RESOURCES_MAX < RESOURCES_MAX


def fill(world):
    """The autoscalers of some namespaces need as many kinds as can be watched; the numbers of these."""
    for number in range(RESOURCES_MAX):
        assert NOT_LISTED in world.needs(f"n{number // NAMESPACE_RESOURCES_MAX}", number)
    return set(range(RESOURCES_MAX))


async def test_kinds_that_no_autoscaler_needs_any_more_are_not_watched_any_more(world):
    fill(world)
    for _ in range(3):
        world.seconds += UNUSED_SECONDS / 2
        world.needs("n1", NAMESPACE_RESOURCES_MAX)
    assert await world.watched() == {NAMESPACE_RESOURCES_MAX}
    assert NOT_LISTED in world.needs("n0", 0), "it is needed again"
    assert await world.watched() == {0, NAMESPACE_RESOURCES_MAX}


async def test_a_namespace_with_many_kinds_gives_way_to_one_with_fewer(world):
    full = fill(world)
    assert NOT_LISTED in world.needs("victim", 25)
    watched = await world.watched()
    assert len(watched) == RESOURCES_MAX
    [given_up] = full - watched
    assert "of more than" in world.needs(f"n{given_up // NAMESPACE_RESOURCES_MAX}", given_up)
    assert await world.watched() == watched, (
        "otherwise both would take it from each other without end"
    )
    for number in (26, 27):
        assert NOT_LISTED in world.needs("victim", number)
    assert "of more than" in world.needs("victim", 28), "all have about as many"


async def test_of_the_kinds_of_a_namespace_one_that_others_need_too_is_given_up_last(world):
    full = fill(world)
    for number in full - {6}:
        world.needs("another", number)
    world.needs("victim", 25)
    assert full - await world.watched() == {6}


async def test_a_kind_counts_once_in_however_many_namespaces_it_is_watched():
    namespaces = [f"n{each}" for each in range(RESOURCES_MAX + 5)]
    made = Owned(namespaces=namespaces)
    worker = pod("w-1", reference("Worker", "w", api_version="example.com/v1"))
    fleet = autoscaler("Fleet", "example.com/v1")
    for each in namespaces:
        metadata = msgspec.structs.replace(fleet.metadata, namespace=each)
        found = made.owners.of(msgspec.structs.replace(fleet, metadata=metadata), TARGET, [worker])
        assert "has not been listed yet" in found.problem
    assert len(made.tasks) == len(namespaces)
    for task in made.tasks.values():
        task.cancel()
    await asyncio.gather(*made.tasks.values(), return_exceptions=True)


async def test_a_limited_scaler_watches_its_namespaces_only():
    made = Owned(namespaces=("shop",))
    path = "/apis/apps/v1/namespaces/shop/replicasets"
    made.server.objects[path] = [item("web-a", WEB)]
    found = await made.of(pod("web-a-1", reference("ReplicaSet", "web-a")))
    assert (found.problem, made.server.listed) == ("", [path])
    for task in made.tasks.values():
        task.cancel()
    await asyncio.gather(*made.tasks.values(), return_exceptions=True)
