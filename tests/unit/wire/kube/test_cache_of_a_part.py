"""The copy of a part of the namespaces: it is that of the API server in these namespaces, whatever changes meanwhile."""

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st

from tests.deadline import DEADLINE_SECONDS
from tests.unit.wire.kube.test_cache import STAY, ScriptedServer, event, page, pod
from wire.api.status import Unavailable
from wire.kube.cache import WatchCache
from wire.kube.metadata_only import PartialObject
from wire.process.backoff import Backoff

NAMESPACES = ("a", "b", "c")


class Watched:
    """A running cache of a part."""

    def __init__(self, server, *namespaces, sleep=lambda _: asyncio.sleep(0)):
        self.part = set(namespaces)
        self.changes = []
        self.changed = asyncio.Event()
        self.cache = WatchCache(
            server,
            "/api/v1/pods",
            PartialObject,
            part=self.part,
            on_change=self._note,
            backoff=Backoff(chance=lambda: 0.0),
            sleep=sleep,
        )

    def _note(self, old, new):
        known = self.cache.get((old or new).metadata.namespace, (old or new).metadata.name)
        assert known is new
        self.changes.append((old and old.metadata.name, new and new.metadata.name))
        self.changed.set()

    async def __aenter__(self):
        self.task = asyncio.create_task(self.cache.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def versions(self):
        return {
            (each.metadata.namespace, each.metadata.name): each.metadata.resource_version
            for each in self.cache.items
        }


class SlowServer(ScriptedServer):
    """The second page of a LIST does not come until `goes_on` is set."""

    def __init__(self, *script):
        super().__init__(*script)
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()

    async def get(self, path, params=None, **options):
        if "continue" in params:
            self.begun.set()
            await self.goes_on.wait()
        return await super().get(path, params, **options)


async def test_only_the_objects_of_the_part_are_kept_and_the_others_move_the_watch_on():
    server = ScriptedServer(
        page(pod("one", 1, "a"), pod("two", 2, "b"), version=2),
        [event("ADDED", pod("three", 3, "a")), event("MODIFIED", pod("two", 4, "b"))],
        [STAY],
    )
    async with Watched(server, "a") as watched:
        await asyncio.wait_for(server.exhausted.wait(), DEADLINE_SECONDS)
        assert watched.versions() == {("a", "one"): "1", ("a", "three"): "3"}
        assert watched.changes == [(None, "one"), (None, "three")]
    assert server.requests[-1][0]["resourceVersion"] == "4"


async def test_what_is_not_in_the_part_is_listed_and_not_kept():
    """So a replica has shown that it can list before it claims anything."""
    pages = page(pod("one", 1, "a"), version=7, continue_="more"), page(pod("two", 2), version=7)
    server = ScriptedServer(*pages, [STAY])
    async with Watched(server) as watched:
        await asyncio.wait_for(server.exhausted.wait(), DEADLINE_SECONDS)
        assert (watched.versions(), watched.cache.is_synced) == ({}, True)
        assert watched.cache.listed_count == 2
    assert server.requests[-1][0]["resourceVersion"] == "7"


class Server:
    """The first LIST is empty. Later ones, and the events of the watch, are what the test says, when it says it."""

    def __init__(self):
        self.lists: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        self.lists.put_nowait(page(version=1))
        self.requested = 0

    async def get(self, path, params=None, *, accept=""):
        self.requested += 1
        found = await self.lists.get()
        if isinstance(found, Exception):
            raise found
        return found

    async def watch(self, path, params=None, *, on_accepted=lambda: None, **_):
        on_accepted()
        while True:
            yield await self.events.get()


async def becomes(condition):
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110  whatever changes it
            await asyncio.sleep(0)


async def test_while_a_part_that_has_grown_is_listed_the_rest_is_kept_up_to_date():
    server = Server()
    async with Watched(server, "a") as watched:
        await watched.cache.synced()
        watched.part.add("b")
        relisted = asyncio.create_task(watched.cache.relisted())
        server.lists.put_nowait(Unavailable("too busy"))
        await becomes(lambda: server.requested == 3)
        server.events.put_nowait(event("ADDED", pod("one", 3, "a")))
        server.events.put_nowait(event("ADDED", pod("gone", 4, "a")))
        server.events.put_nowait(event("DELETED", pod("gone", 5, "a")))
        await becomes(lambda: watched.versions() == {("a", "one"): "3"})
        assert watched.cache.last_error is None
        assert not relisted.done()
        # Of version 2: before these events.
        server.lists.put_nowait(page(pod("gone", 2, "a"), pod("two", 2, "b"), version=2))
        await asyncio.wait_for(relisted, DEADLINE_SECONDS)
        assert watched.versions() == {("a", "one"): "3", ("b", "two"): "2"}
        assert ("one", None) not in watched.changes


async def test_events_that_a_newer_list_contains_change_nothing():
    server = Server()
    async with Watched(server, "a") as watched:
        await watched.cache.synced()
        watched.part.add("b")
        server.lists.put_nowait(page(pod("one", 4, "a"), version=5))
        await asyncio.wait_for(watched.cache.relisted(), DEADLINE_SECONDS)
        assert watched.cache.resource_version == "5"
        for each in (
            event("ADDED", pod("one", 2, "a")),
            event("ADDED", pod("gone", 3, "b")),
            event("MODIFIED", pod("one", 4, "a")),
            event("DELETED", pod("gone", 5, "b")),
        ):
            server.events.put_nowait(each)
        server.events.put_nowait(event("ADDED", pod("new", 6, "b")))
        await becomes(lambda: watched.cache.resource_version == "6")
        assert watched.versions() == {("a", "one"): "4", ("b", "new"): "6"}
        assert watched.changes == [(None, "one"), (None, "new")]


async def test_a_list_of_earlier_versions_than_the_copy_replaces_it():
    """As after a restore of etcd: what the watch sends is not of the same history."""
    server = Server()
    async with Watched(server, "a") as watched:
        await watched.cache.synced()
        server.events.put_nowait(event("ADDED", pod("lost", 9, "a")))
        await becomes(lambda: watched.versions() == {("a", "lost"): "9"})
        watched.part.add("b")
        relisted = asyncio.create_task(watched.cache.relisted())
        for _ in range(2):
            server.lists.put_nowait(page(pod("one", 3, "a"), version=4))
        await asyncio.wait_for(relisted, DEADLINE_SECONDS)
        assert watched.versions() == {("a", "one"): "3"}


async def test_a_request_ends_the_pause_after_a_failure():
    server = Server()
    server.lists = asyncio.Queue()
    server.lists.put_nowait(Unavailable("no connection"))
    async with Watched(server, "a", sleep=lambda _: asyncio.Event().wait()) as watched:
        await asyncio.wait_for(watched.cache.attempted(), DEADLINE_SECONDS)
        server.lists.put_nowait(page(pod("one", 1, "a"), version=1))
        await asyncio.wait_for(watched.cache.relisted(), DEADLINE_SECONDS)
        assert watched.versions() == {("a", "one"): "1"}


async def test_a_list_that_has_begun_before_is_not_the_one_that_was_requested():
    first = page(pod("one", 1, "a"), version=2, continue_="t")
    second = page(pod("old", 2, "b"), version=2)
    server = SlowServer(first, second, [STAY], page(pod("new", 3, "b"), version=3))
    async with Watched(server, "a") as watched:
        await asyncio.wait_for(server.begun.wait(), DEADLINE_SECONDS)
        watched.part.add("b")
        relisted = asyncio.create_task(watched.cache.relisted())
        await asyncio.sleep(0)
        server.goes_on.set()
        await asyncio.wait_for(relisted, DEADLINE_SECONDS)
        assert watched.versions() == {("b", "new"): "3"}


async def test_what_has_left_the_part_is_dropped_and_reported():
    listed = page(pod("one", 1, "a"), pod("two", 2, "b"), version=2)
    server = ScriptedServer(listed, [STAY])
    async with Watched(server, "a", "b") as watched:
        await asyncio.wait_for(server.exhausted.wait(), DEADLINE_SECONDS)
        watched.part.discard("b")
        watched.cache.keep_part()
        assert watched.versions() == {("a", "one"): "1"}
        assert watched.changes[-1] == ("two", None)


async def test_what_leaves_the_part_during_a_list_is_not_kept():
    pages = page(pod("two", 2, "b"), version=2, continue_="t"), page(pod("one", 1, "a"), version=2)
    server = SlowServer(*pages, [STAY])
    async with Watched(server, "a", "b") as watched:
        await asyncio.wait_for(server.begun.wait(), DEADLINE_SECONDS)
        watched.part.discard("b")
        watched.cache.keep_part()
        server.goes_on.set()
        await asyncio.wait_for(server.exhausted.wait(), DEADLINE_SECONDS)
        assert watched.versions() == {("a", "one"): "1"}


class ModelServer:
    """The objects of some namespaces, with a history for watches. A LIST has two pages with an await between them."""

    def __init__(self):
        self.version = 0
        self.objects = {}
        self.history = []
        self.broken = asyncio.Event()
        self.changed = asyncio.Event()

    def write(self, namespace, name, *, deletes):
        key = namespace, name
        if deletes and key not in self.objects:
            return
        self.version += 1
        kind = "DELETED" if deletes else "MODIFIED" if key in self.objects else "ADDED"
        written = pod(name, self.version, namespace)
        self.history.append((self.version, event(kind, written)))
        if deletes:
            del self.objects[key]
        else:
            self.objects[key] = written
        self._wake()

    def end_watches(self):
        self.broken.set()
        self.broken = asyncio.Event()
        self._wake()

    def _wake(self):
        self.changed.set()
        self.changed = asyncio.Event()

    async def get(self, path, params=None, *, accept=""):
        if "continue" in params:
            left, version = json.loads(params["continue"])
            return page(*left, version=version)
        found, version = list(self.objects.values()), self.version
        await asyncio.sleep(0)
        half = len(found) // 2
        return page(*found[:half], version=version, continue_=json.dumps([found[half:], version]))

    async def watch(self, path, params=None, *, on_accepted=lambda: None, **_):
        on_accepted()
        sent, broken = int(params["resourceVersion"]), self.broken
        while not broken.is_set():
            changed = self.changed
            for version, line in [each for each in self.history if each[0] > sent]:
                await asyncio.sleep(0)
                if broken.is_set():
                    break
                sent = version
                yield line
            else:
                if changed is self.changed:
                    await changed.wait()
        raise Unavailable("the connection was closed")


namespaces = st.sampled_from(NAMESPACES)
steps = st.one_of(
    st.tuples(st.just("write"), namespaces, st.sampled_from("xyz"), st.booleans()),
    st.tuples(st.just("hold"), st.sets(namespaces)),
    st.tuples(st.just("break")),
    st.tuples(st.just("turn")),
)


@given(st.lists(steps, max_size=30))
def test_a_part_is_what_the_server_has_in_its_namespaces(script):
    async def scenario():
        server = ModelServer()
        relisting = []
        async with Watched(server) as watched:
            for step in script:
                match step:
                    case "write", namespace, name, deletes:
                        server.write(namespace, name, deletes=deletes)
                    case "hold", held:
                        grows = not held <= watched.part
                        watched.part.clear()
                        watched.part.update(held)
                        watched.cache.keep_part()
                        if grows:
                            relisting.append(asyncio.create_task(watched.cache.relisted()))
                    case ("break",):
                        server.end_watches()
                    case ("turn",):
                        await asyncio.sleep(0)
                assert known(watched) <= written(server, watched.part)
            watched.part.add("a")
            await watched.cache.relisted()
            await asyncio.gather(*relisting)
            server.write("a", "last", deletes=False)
            while ("a", "last") not in watched.versions():
                watched.changed.clear()
                await watched.changed.wait()
            expected = {
                key: each["metadata"]["resourceVersion"]
                for key, each in server.objects.items()
                if key[0] in watched.part
            }
            assert watched.versions() == expected

    def known(watched):
        return {(*key, version) for key, version in watched.versions().items()}

    def written(server, held):
        found = (json.loads(line)["object"]["metadata"] for _, line in server.history)
        return {
            (each["namespace"], each["name"], each["resourceVersion"])
            for each in found
            if each["namespace"] in held
        }

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_SECONDS))
