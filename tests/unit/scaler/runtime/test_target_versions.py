"""The versions of the targets, from metadata-only watches."""

import asyncio

import pytest

from scaler.runtime.target_versions import AGE_SECONDS_MAX, TargetVersions
from tests.unit.wire.kube.test_cache import STAY, ScriptedServer, event, page, pod
from wire.api.status import StatusError

PATH = "/apis/apps/v1/namespaces/default/deployments/web/scale"


class Watched:
    """Versions over a server with prepared responses."""

    def __init__(self, *script, namespaces=()):
        self.server = ScriptedServer(*script, [STAY])
        self.seconds = 1000.0
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.versions = TargetVersions(
            self.server, namespaces, self.start, monotonic=lambda: self.seconds
        )

    def start(self, work, name):
        self.tasks[name] = asyncio.create_task(work)

    async def stop(self):
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


@pytest.fixture
async def watched():
    made = []

    def make(*script, **options):
        made.append(Watched(*script, **options))
        return made[-1]

    yield make
    for each in made:
        await each.stop()


async def test_the_version_is_unknown_before_the_first_list_and_then_follows_the_watch(watched):
    changed = pod("web", 8)
    changed["metadata"]["generation"] = 3
    made = watched(page(pod("web", 5), version=5), [event("MODIFIED", changed), STAY])
    version = made.versions.follow(PATH)
    assert version() is None
    await made.server.exhausted.wait()
    assert (version().resource_version, version().generation) == ("8", 3)


async def test_an_object_that_does_not_exist_has_no_version(watched):
    made = watched(page(version=5))
    version = made.versions.follow(PATH)
    await made.server.exhausted.wait()
    assert version() is None


async def test_a_copy_that_was_not_confirmed_recently_has_no_version(watched):
    made = watched(page(pod("web", 5), version=5))
    version = made.versions.follow(PATH)
    await made.server.exhausted.wait()
    assert version().resource_version == "5"
    made.seconds += AGE_SECONDS_MAX + 1
    assert version() is None


async def test_without_the_right_to_list_there_is_no_version(watched):
    made = watched(StatusError("no", code=403, reason="Forbidden"))
    version = made.versions.follow(PATH)
    for _ in range(20):
        await asyncio.sleep(0)
    assert version() is None


async def test_how_many_objects_there_are_is_known_after_the_first_list(watched):
    made = watched(page(pod("web", 5), pod("api", 4), version=5))
    assert await made.versions.objects("/apis/apps/v1/deployments") == 2
    made.versions.follow(PATH)
    assert list(made.tasks) == ["watch /apis/apps/v1/deployments"]


async def test_how_many_objects_there_are_is_not_known_without_the_right_to_list(watched):
    made = watched(StatusError("no", code=403, reason="Forbidden"))
    assert await made.versions.objects("/apis/apps/v1/deployments") is None


@pytest.mark.parametrize(
    ("namespaces", "collection"),
    [
        ((), "/apis/apps/v1/deployments"),
        (("default",), "/apis/apps/v1/namespaces/default/deployments"),
    ],
)
async def test_targets_of_one_resource_share_a_watch(watched, namespaces, collection):
    made = watched(page(version=5), namespaces=namespaces)
    for name in ("web", "api"):
        made.versions.follow(f"/apis/apps/v1/namespaces/default/deployments/{name}/scale")
    assert list(made.tasks) == [f"watch {collection}"]


async def test_a_name_is_decoded(watched):
    made = watched(page(pod("a b", 5), version=5))
    version = made.versions.follow("/apis/g/v1/namespaces/default/things/a%20b/scale")
    await made.server.exhausted.wait()
    assert version().resource_version == "5"


async def test_core_resources_have_no_group(watched):
    made = watched(page(version=5))
    made.versions.follow("/api/v1/namespaces/default/replicationcontrollers/web/scale")
    assert list(made.tasks) == ["watch /api/v1/replicationcontrollers"]
