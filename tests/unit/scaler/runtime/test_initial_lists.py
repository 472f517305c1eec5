"""What the first reconciles read from LISTs, and when they read it one by one."""

import asyncio
import json

import msgspec
import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.cluster.scales import Scales
from scaler.control.reconcile import every
from scaler.runtime.initial_lists import DEFINITIONS, OBJECT_SECONDS, SECONDS_MIN, InitialLists
from tests.fakes import virtual_time
from tests.fakes.scaler import FakeKube, FakeMapper, resource
from tests.other_tasks import turns_during
from tests.unit.scaler.cluster.memories.server import Server
from tests.unit.scaler.cluster.test_target_scale import scaled
from tests.unit.scaler.runtime.replica import NAMESPACES, SHOP, Replica
from wire.api.status import StatusError, Unavailable

NAMES = ("web", "api", "worker")
AUTOSCALERS = "/apis/loadline.io/v1beta1/loadautoscalers"
DEPLOYMENTS = "/apis/apps/v1/deployments"
ROLLOUTS = "/apis/argoproj.io/v1alpha1/rollouts"
DEFINITION = f"{DEFINITIONS}/rollouts.argoproj.io"
MAPPER = FakeMapper(
    resource("apps", "v1", "deployments", "Deployment"),
    msgspec.structs.replace(resource("", "v1", "pods", "Pod"), subresources=("status",)),
    resource("argoproj.io", "v1alpha1", "rollouts", "Rollout"),
)
PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def scale_path(collection, name):
    folder, _, plural = collection.rpartition("/")
    return f"{folder}/namespaces/shop/{plural}/{name}/scale"


def metadata(name):
    return {"namespace": "shop", "name": name, "uid": f"u-{name}", "resourceVersion": "7"}


def stored(name, desired):
    status = {"desiredReplicas": desired, "currentReplicas": desired, "history": {}}
    return {"metadata": metadata(name), "status": status}


async def hangs(*_, **__):
    await asyncio.Event().wait()


def workload(name, replicas=3):
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}}
    return {"metadata": metadata(name), "spec": spec, "status": {"replicas": replicas}}


def of(name, kind="Deployment", api_version="apps/v1", **metadata):
    found = scaled(api_version, kind, name)
    known = {"name": name, "uid": f"u-{name}", "resource_version": "7", **metadata}
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, **known))


ALL = [of(name) for name in NAMES]


class FollowedTargets:
    """The watch of all targets: the versions that it shows, and how many objects there are."""

    def __init__(self):
        self.counts = {DEPLOYMENTS: len(NAMES), ROLLOUTS: len(NAMES)}
        self.watched = []

    async def objects(self, collection_path):
        self.watched.append(collection_path)
        return self.counts.get(collection_path)


class Started:
    """Initial lists over a server with prepared responses."""

    def __init__(self, kind=LOAD_AUTOSCALERS, namespaces=()):
        self.kube = FakeKube()
        self.targets = FollowedTargets()
        self.tasks = []
        self.lists = InitialLists(self.kube, kind, namespaces, MAPPER, self.targets, self._start)

    def _start(self, work, _):
        self.tasks.append(asyncio.create_task(work))

    def list(self, path, *items):
        self.kube.serve(path, {"metadata": {"resourceVersion": "9"}, "items": items})

    @property
    def paths(self):
        return [path for path, _ in self.kube.requested]


@pytest.fixture
def started():
    made = Started()
    made.list(AUTOSCALERS, *(stored(name, 5) for name in NAMES))
    made.list(DEPLOYMENTS, *(workload(name) for name in NAMES))
    made.list(ROLLOUTS, *(workload(name) for name in NAMES))
    return made


async def test_memories_and_scales_are_those_of_the_lists_and_are_used_once(started):
    started.lists.begin([of(name) for name in NAMES], listed_in=lambda _: len(ALL))
    for name in NAMES:
        memory = await started.lists.memory(of(name))
        assert memory.known_replicas == (5, 5)
        scale = await started.lists.scale(scale_path(DEPLOYMENTS, name))
        assert (scale.view.spec_replicas, scale.view.selector) == (3, f"app={name}")
        assert (scale.uid, scale.view.resource_version) == (f"u-{name}", "7")
        assert await started.lists.memory(of(name)) is None
        assert await started.lists.scale(scale.path) is None
    assert sorted(started.paths) == [DEPLOYMENTS, AUTOSCALERS]


async def test_every_page_is_read(started):
    first = {"metadata": {"resourceVersion": "9", "continue": "c"}, "items": [workload("web")]}
    last = {"metadata": {"resourceVersion": "9"}, "items": [workload("api")]}

    async def get(path, params=None, **_):
        if path == AUTOSCALERS:
            raise Unavailable("busy")
        return json.dumps(last if params.get("continue") == "c" else first).encode()

    started.kube.get = get
    started.lists.begin([of(name) for name in NAMES], listed_in=lambda _: len(ALL))
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is not None
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "api")) is not None
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "worker")) is None
    assert await started.lists.memory(of("web")) is None, "the LIST of autoscalers had failed"


async def test_custom_resources_are_listed_as_their_definition_says(started):
    version = {"name": "v1alpha1", "subresources": {"scale": PATHS}}
    started.kube.serve(DEFINITION, {"spec": {"versions": [version]}})
    started.lists.begin([of("web", "Rollout", "argoproj.io/v1alpha1")], listed_in=lambda _: 1)
    scale = await started.lists.scale(scale_path(ROLLOUTS, "web"))
    assert (scale.view.spec_replicas, scale.view.status_replicas) == (3, 3)


async def test_between_large_objects_everything_else_has_its_turn(started):
    started.list(DEPLOYMENTS, *({**workload(name), "x": "x" * 100_000} for name in NAMES * 10))
    started.lists.begin(ALL, listed_in=lambda _: len(ALL))
    scale, turns = await turns_during(started.lists.scale(scale_path(DEPLOYMENTS, "worker")))
    assert scale is not None
    assert turns >= 10


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(StatusError("no", code=403, reason="Forbidden"), id="not permitted"),
        pytest.param(b"{}", id="something else"),
    ],
)
async def test_custom_resources_without_a_definition_are_read_one_by_one(started, answer):
    started.kube.answers[DEFINITION] = answer
    started.lists.begin([of("web", "Rollout", "argoproj.io/v1alpha1")], listed_in=lambda _: 1)
    assert await started.lists.scale(scale_path(ROLLOUTS, "web")) is None
    assert ROLLOUTS not in started.paths


async def test_a_few_of_many_objects_are_read_one_by_one(started):
    started.targets.counts[DEPLOYMENTS] = 11
    started.lists.begin([of("web")], listed_in=lambda _: 11)
    assert await started.lists.memory(of("web")) is None
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is None
    assert started.paths == []


async def test_targets_that_cannot_be_watched_are_read_one_by_one(started):
    del started.targets.counts[DEPLOYMENTS]
    started.lists.begin([of("web")], listed_in=lambda _: 1)
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is None
    assert await started.lists.memory(of("web")) is not None


async def test_an_object_that_cannot_be_read_does_not_hide_the_others(started):
    malformed = {"metadata": metadata("web"), "spec": {"replicas": "three"}}
    started.list(DEPLOYMENTS, malformed, {"metadata": 7}, workload("api"))
    started.lists.begin([of(name) for name in NAMES], listed_in=lambda _: len(ALL))
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is None
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "api")) is not None


async def test_of_a_kind_without_a_history_only_the_scales_are_listed():
    started = Started(HORIZONTAL_POD_AUTOSCALERS)
    started.list(DEPLOYMENTS, workload("web"))
    started.lists.begin([of("web")], listed_in=lambda _: 1)
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is not None
    assert started.paths == [DEPLOYMENTS]


async def test_a_limited_scaler_lists_its_namespaces_only():
    started = Started(namespaces=("shop", "back"))
    folder = "/apis/apps/v1/namespaces/{}/deployments"
    started.targets.counts = {folder.format("shop"): 2, folder.format("back"): 0}
    started.list(folder.format("shop"), workload("web"))
    started.lists.begin([of("web")], listed_in=lambda _: 1)
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is not None
    memories = "/apis/loadline.io/v1beta1/namespaces/shop/loadautoscalers"
    assert sorted(started.paths) == sorted([folder.format("shop"), memories])


async def test_what_another_process_may_have_written_is_not_used_and_the_rest_is(started):
    started.lists.begin(ALL, listed_in=lambda _: len(ALL))
    await asyncio.gather(*started.tasks)
    started.lists.forget(lambda key: key == "shop/web")
    assert await started.lists.memory(of("web")) is None
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is None
    assert await started.lists.memory(of("api")) is not None
    assert await started.lists.scale(scale_path(DEPLOYMENTS, "api")) is not None


async def test_what_is_forgotten_while_it_is_listed_is_not_waited_for(started):
    started.kube.get = hangs
    started.lists.begin(ALL, listed_in=lambda _: len(ALL))
    waiting = asyncio.create_task(started.lists.memory(of("web")))
    await asyncio.sleep(0)
    started.lists.forget(every)
    assert await waiting is None
    for each in started.tasks:
        each.cancel()


@pytest.mark.parametrize("version", ["6", "8"])
async def test_a_memory_of_another_version_than_the_watch_shows_is_not_used(started, version):
    started.lists.begin(ALL, listed_in=lambda _: len(ALL))
    assert await started.lists.memory(of("web", resource_version=version)) is None
    assert await started.lists.memory(of("web")) is None, "it is used once"
    assert await started.lists.memory(of("api")) is not None


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [
        pytest.param("Pod", "v1", id="a kind without a Scale"),
        pytest.param("Unknown", "example.com/v1", id="a kind that is not served"),
        pytest.param("Deployment", "a/b/c", id="no group and version"),
    ],
)
async def test_what_cannot_be_scaled_is_neither_watched_nor_listed(started, kind, api_version):
    started.lists.begin([of("web", kind, api_version)], listed_in=lambda _: 1)
    assert await started.lists.memory(of("web")) is not None
    await asyncio.gather(*started.tasks)
    assert started.targets.watched == []
    assert started.paths == [AUTOSCALERS]


def test_a_resource_that_hangs_delays_only_its_own_autoscalers(started):
    get = started.kube.get

    async def hangs_with_rollouts(path, params=None, **_):
        return await (hangs() if "rollouts" in path else get(path, params))

    async def scenario():
        clock = asyncio.get_running_loop().time
        began_at = clock()
        started.lists.begin(
            [of("web", "Rollout", "argoproj.io/v1alpha1"), of("api")], listed_in=lambda _: len(ALL)
        )
        memory = await started.lists.memory(of("web"))
        scale = await started.lists.scale(scale_path(DEPLOYMENTS, "api"))
        fast_seconds = clock() - began_at
        hanging = await started.lists.scale(scale_path(ROLLOUTS, "web"))
        return memory is not None, scale is not None, fast_seconds, hanging, clock() - began_at

    started.kube.get = hangs_with_rollouts
    assert virtual_time.run(scenario()) == (True, True, 0.0, None, SECONDS_MIN)


@pytest.mark.parametrize(("there", "is_listed"), [(10, True), (11, False)])
async def test_a_tenth_of_the_objects_is_enough(started, there, is_listed):
    started.targets.counts[DEPLOYMENTS] = there
    started.lists.begin([of("web")], listed_in=lambda _: there)
    assert (await started.lists.memory(of("web")) is not None) is is_listed
    assert (await started.lists.scale(scale_path(DEPLOYMENTS, "web")) is not None) is is_listed


async def test_shards_that_are_begun_one_after_the_other_keep_what_was_listed_for_each(started):
    for name in NAMES:
        started.lists.begin([of(name)], listed_in=lambda _: len(ALL))
    for name in NAMES:
        assert await started.lists.memory(of(name)) is not None


async def test_an_autoscaler_that_was_created_again_has_no_memory_of_the_former(started):
    started.lists.begin([of("web")], listed_in=lambda _: 1)
    assert await started.lists.memory(of("web", uid="another")) is None


@pytest.mark.parametrize("count", [1, 30_000])
def test_a_list_that_hangs_is_waited_for_no_longer_than_ten_seconds(started, count):
    async def scenario():
        clock = asyncio.get_running_loop().time
        began_at = clock()
        many = [of(f"web-{number}") for number in range(count)]
        started.lists.begin(many, listed_in=lambda _: count)
        memory = await started.lists.memory(many[-1])
        return memory, clock() - began_at

    started.kube.get = hangs
    assert virtual_time.run(scenario()) == (None, SECONDS_MIN)


@pytest.mark.parametrize(
    ("count", "seconds", "is_found"),
    [
        pytest.param(10_000, 18.0, True, id="as long as single requests would take"),
        pytest.param(6_000, 6_000 * OBJECT_SECONDS, False, id="longer"),
    ],
)
def test_a_slow_list_of_many_objects_is_waited_for(started, count, seconds, is_found):
    async def page(path, params=None, **_):
        if path != AUTOSCALERS:
            await hangs()
        await virtual_time.passes(9.0)
        is_last = params.get("continue") == "c"
        about = {"resourceVersion": "9", **({} if is_last else {"continue": "c"})}
        item = stored("web-1" if is_last else "web-0", 5)
        return json.dumps({"metadata": about, "items": [item]}).encode()

    async def scenario():
        clock = asyncio.get_running_loop().time
        began_at = clock()
        many = [of(f"web-{number}") for number in range(count)]
        started.lists.begin(many, listed_in=lambda _: count)
        memory = await started.lists.memory(many[1])
        return memory is not None, clock() - began_at

    started.kube.get = page
    assert virtual_time.run(scenario()) == (is_found, pytest.approx(seconds))


@pytest.mark.parametrize(("version", "is_copy"), [("7", True), ("8", False), (None, False)])
async def test_a_listed_scale_is_used_only_if_the_watch_shows_its_version(
    started, version, is_copy
):
    path = scale_path(DEPLOYMENTS, "web")
    started.kube.serve(path, {"metadata": metadata("web"), "spec": {"replicas": 9}, "status": {}})
    started.lists.begin([of("web")], listed_in=lambda _: 1)

    class Version:
        resource_version = version

    scales = Scales(
        started.kube,
        MAPPER,
        lambda _: lambda: None if version is None else Version,
        started.lists.scale,
    )
    target, _ = await scales.read(of("web"))
    assert (target.is_copy, target.view.spec_replicas) == (is_copy, 3 if is_copy else 9)


def test_what_other_replicas_have_written_is_listed_and_forgotten_when_a_shard_is_given_up():
    async def scenario():
        replica = Replica(Server())
        await replica.begin(SHOP)
        await replica.begin(SHOP, continues=True)
        assert replica.lists.begun == [["shop/web"]]
        await replica.reconciling.end(SHOP)
        assert replica.lists.forgotten == [["shop/web"]]
        await replica.stop()
        assert replica.lists.forgotten[1:] == [sorted(f"{each}/web" for each in NAMESPACES)]

    virtual_time.run(scenario())
