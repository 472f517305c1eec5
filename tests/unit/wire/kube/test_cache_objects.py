"""Which objects a cache keeps in memory, and whether it may list them at all."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from tests.deadline import DEADLINE_SECONDS
from tests.unit.wire.kube.test_cache import GONE, PATH, STAY, ScriptedServer, event, page, pod
from wire.api.status import StatusError, Unavailable
from wire.kube.cache import WatchCache
from wire.kube.metadata_only import NameAndLabels, PartialObject
from wire.process.backoff import Backoff


async def test_an_unchanged_object_is_kept_when_it_is_listed_again():
    """What the caller keeps by reference would otherwise be in memory twice."""
    server = ScriptedServer(
        page(pod("a", 1), pod("b", 2), version=5),
        [GONE],
        page(pod("a", 1), pod("b", 7), version=9),
        [STAY],
    )
    first: dict[str, PartialObject] = {}

    def note(_: PartialObject | None, new: PartialObject | None) -> None:
        assert new is not None
        first.setdefault(new.metadata.name, new)

    cache = WatchCache(
        server, PATH, PartialObject, on_change=note, backoff=Backoff(chance=lambda: -1.0)
    )
    running = asyncio.create_task(cache.run())
    await server.exhausted.wait()
    running.cancel()
    assert cache.get("default", "a") is first["a"]
    assert cache.get("default", "b") is not first["b"]


async def test_an_object_is_kept_as_converted():
    server = ScriptedServer(page(pod("a", 1), version=5), [STAY])

    def upper(found: PartialObject) -> PartialObject:
        metadata = msgspec.structs.replace(found.metadata, name=found.metadata.name.upper())
        return PartialObject(metadata=metadata)

    cache = WatchCache(server, PATH, PartialObject, convert=upper)
    running = asyncio.create_task(cache.run())
    await server.exhausted.wait()
    running.cancel()
    assert [each.metadata.name for each in cache.items] == ["A"]


@pytest.mark.parametrize(
    ("failure", "forbidden"),
    [
        pytest.param(StatusError("no", code=403, reason="Forbidden"), True, id="403"),
        pytest.param(StatusError("no", code=500, reason="InternalError"), False, id="500"),
        pytest.param(Unavailable("no answer in time"), False, id="slow"),
    ],
)
async def test_only_a_403_means_that_the_collection_may_not_be_listed(failure, forbidden):
    server = ScriptedServer(failure, page(pod("a", 1), version=5), [STAY])
    resumed = asyncio.Event()

    async def pause(_: float) -> None:
        await resumed.wait()

    cache = WatchCache(server, PATH, PartialObject, sleep=pause)
    running = asyncio.create_task(cache.run())
    listed = asyncio.create_task(cache.listed_unless_forbidden())
    for _ in range(10):
        await asyncio.sleep(0)
    assert listed.done() is forbidden
    resumed.set()
    await server.exhausted.wait()
    assert await listed is not forbidden
    assert await cache.listed_unless_forbidden(), "it was allowed in the meantime"
    running.cancel()


@pytest.mark.parametrize("first", [Unavailable("no"), page(pod("a", 1), version=5)])
async def test_a_list_is_attempted_when_it_is_complete_or_has_failed(first):
    cache = WatchCache(ScriptedServer(first, [STAY]), PATH, PartialObject)
    attempted = asyncio.create_task(cache.attempted())
    await asyncio.sleep(0)
    assert not attempted.done()
    running = asyncio.create_task(cache.run())
    await asyncio.wait_for(attempted, DEADLINE_SECONDS)
    assert cache.is_synced is not bool(cache.last_error)
    running.cancel()


class Numbered(msgspec.Struct):
    metadata: NameAndLabels
    spec: int = 0


async def numbered(*script):
    """The names in a cache of such objects after these responses, and what was reported."""
    server = ScriptedServer(*script, [STAY])
    changes: list[tuple[int | None, int | None]] = []

    def note(old: Numbered | None, new: Numbered | None) -> None:
        changes.append((old and old.spec, new and new.spec))

    cache = WatchCache(server, PATH, Numbered, on_change=note, backoff=Backoff(chance=lambda: -1.0))
    running = asyncio.create_task(cache.run())
    await server.exhausted.wait()
    running.cancel()
    return {each.metadata.name: each.spec for each in cache.items}, changes


async def test_an_object_that_can_no_longer_be_decoded_is_not_reported_as_deleted():
    """A deleted autoscaler would lose its memory."""
    good, bad = {**pod("a", 1), "spec": 7}, {**pod("a", 3), "spec": "seven"}
    kept, changes = await numbered(page(good, version=1), [GONE], page(bad, version=5))
    assert kept == {"a": 7}
    assert changes == [(None, 7)]


async def test_the_deletion_of_an_object_that_cannot_be_decoded_is_reported():
    good, bad = {**pod("a", 1), "spec": 7}, {**pod("a", 3), "spec": "seven"}
    kept, changes = await numbered(page(good, version=1), [event("DELETED", bad)])
    assert kept == {}
    assert changes == [(None, 7), (7, None)]


async def converted(convert: Callable[[Numbered], Numbered], *script):
    """The cache after these responses, what it has reported, and how many crashes; fails if it has ended."""
    server = ScriptedServer(*script, [STAY])
    changes: list[tuple[int | None, int | None]] = []
    crashes: list[int] = []
    cache = WatchCache(
        server,
        PATH,
        Numbered,
        convert=convert,
        on_change=lambda old, new: changes.append((old and old.spec, new and new.spec)),
        on_crash=lambda: crashes.append(1),
        backoff=Backoff(chance=lambda: -1.0),
    )
    running = asyncio.create_task(cache.run())
    exhausted = asyncio.create_task(server.exhausted.wait())
    await asyncio.wait([running, exhausted], return_when=asyncio.FIRST_COMPLETED)
    assert not running.done(), "the cache has ended"
    running.cancel()
    return {each.metadata.name: each.spec for each in cache.items}, changes, len(crashes)


def spec_of(name: str, version: int, spec: int) -> dict[str, object]:
    return {**pod(name, version), "spec": spec}


async def test_an_object_that_cannot_be_converted_hides_no_other(caplog):
    def broken(found: Numbered) -> Numbered:
        if found.metadata.name == "a":
            raise KeyError("a bug")
        return found

    kept, _, crashes = await converted(
        broken,
        page(spec_of("a", 1, 1), spec_of("b", 2, 2), version=2),
        [event("MODIFIED", spec_of("a", 3, 3)), event("MODIFIED", spec_of("b", 4, 4)), GONE],
        page(spec_of("a", 3, 3), spec_of("b", 4, 4), version=5),
    )
    assert kept == {"b": 4}
    assert crashes == 3
    assert caplog.text.count("default/a cannot be converted") == 2, "once for each version"
    assert "KeyError: 'a bug'" in caplog.text, "with a traceback"


@pytest.mark.parametrize(
    ("more", "kept", "changes"),
    [
        pytest.param([], {"a": 1}, [(None, 1)], id="it stays"),
        pytest.param(
            [event("DELETED", spec_of("a", 4, 3))], {}, [(None, 1), (1, None)], id="deleted"
        ),
    ],
)
async def test_an_object_that_can_no_longer_be_converted_keeps_its_previous_version(
    more, kept, changes
):
    def broken(found: Numbered) -> Numbered:
        if found.spec == 3:
            raise ValueError("a bug")
        return found

    found = await converted(
        broken,
        page(spec_of("a", 1, 1), version=2),
        [event("MODIFIED", spec_of("a", 3, 3)), *more],
    )
    assert found[:2] == (kept, changes)


async def test_an_object_that_cannot_be_decoded_is_logged_once_for_each_version(caplog):
    bad, worse = {**pod("a", 3), "spec": "seven"}, {**pod("a", 9), "spec": "seven"}
    await numbered(page(bad, version=5), [GONE], page(bad, version=6), [event("MODIFIED", worse)])
    assert caplog.text.count("cannot be decoded") == 2
