"""The cache against a scripted API server: each LIST and each WATCH gets one prepared response."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest

from tests.deadline import DEADLINE_SECONDS
from wire.api.status import StatusError, Unavailable
from wire.kube.cache import RELIST_SECONDS, WatchCache
from wire.kube.metadata_only import METADATA_LIST, PartialObject
from wire.kube.requests import JSON, OnAccepted
from wire.process.backoff import Backoff

PATH = "/api/v1/pods"


def pod(name: str, version: int, namespace: str = "default", **more: object) -> dict[str, object]:
    return {
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": str(version)} | more
    }


def page(*items: object, version: int, continue_: str = "") -> bytes:
    meta = {"resourceVersion": str(version), "continue": continue_}
    return json.dumps({"metadata": meta, "items": items or None}).encode()


def event(kind: str, item: object) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode()


GONE = event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
STAY = b""  # in a watch: stay open


class ScriptedServer:
    """Responds in the order of the script, then keeps the last watch open."""

    def __init__(self, *script: bytes | Exception | list[bytes]) -> None:
        self.script = list(script)
        self.requests: list[tuple[Mapping[str, str], str]] = []
        self.exhausted = asyncio.Event()

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.requests.append((dict(params or {}), accept))
        response = self.script.pop(0)
        if isinstance(response, Exception):
            raise response
        assert isinstance(response, bytes), "a WATCH was expected"
        return response

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        timeout_seconds: float = 1,
        on_accepted: OnAccepted = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        self.requests.append((dict(params or {}), accept))
        response = self.script.pop(0) if self.script else [STAY]
        if isinstance(response, Exception):
            raise response
        assert isinstance(response, list), "a LIST was expected"
        on_accepted()
        for line in response:
            if line is STAY:
                self.exhausted.set()
                await asyncio.Event().wait()
            yield line


class Watched:
    """A running cache, its changes and its pauses."""

    def __init__(
        self, server: ScriptedServer, *, metadata_only: bool = False, objects_max: int = 1000
    ) -> None:
        self.server = server
        self.changes: list[str] = []
        self.pauses_seconds: list[float] = []
        self.errors: list[str] = []
        """What was shown at the beginning of each pause."""
        self.versions_at_errors: list[str] = []
        self.now_seconds = 0.0
        self.versions: list[str] = []
        """Of the copy, whenever a watch opened."""
        self.cache = WatchCache(
            server,
            PATH,
            PartialObject,
            metadata_only=metadata_only,
            objects_max=objects_max,
            on_change=self.note,
            on_watch=lambda: self.versions.append(self.cache.resource_version),
            backoff=Backoff(chance=lambda: 0.0),
            sleep=self.pause,
            monotonic=lambda: self.now_seconds,
        )

    def note(self, old: PartialObject | None, new: PartialObject | None) -> None:
        before = old.metadata.resource_version if old else ""
        after = new.metadata.resource_version if new else ""
        some = new or old
        assert some
        self.changes.append(f"{some.metadata.name}:{before}->{after}")

    async def pause(self, seconds: float) -> None:
        self.pauses_seconds.append(seconds)
        self.errors.append(self.cache.last_error)
        self.versions_at_errors.append(self.cache.resource_version)
        self.now_seconds += seconds

    def names(self) -> list[str]:
        return sorted(item.metadata.name for item in self.cache.items)


async def play(*script: bytes | Exception | list[bytes], metadata_only: bool = False) -> Watched:
    """Run a cache until the end of the script, where the last watch stays open."""
    server = ScriptedServer(*script, [STAY])
    watched = Watched(server, metadata_only=metadata_only)
    task = asyncio.create_task(watched.cache.run())
    exhausted = asyncio.create_task(server.exhausted.wait())
    await asyncio.wait(
        {task, exhausted}, timeout=DEADLINE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    exhausted.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return watched


async def test_the_pages_of_a_list_become_one_copy():
    watched = await play(
        page(pod("a", 1), version=9, continue_="t"), page(pod("b", 2, "other"), version=9)
    )
    assert watched.names() == ["a", "b"]
    assert watched.cache.is_synced
    assert [item.metadata.name for item in watched.cache.list("other")] == ["b"]
    assert [params.get("continue") for params, _ in watched.server.requests[:2]] == [None, "t"]
    assert watched.server.requests[2][0]["resourceVersion"] == "9"


async def test_events_change_the_copy_and_are_reported():
    watched = await play(
        page(pod("a", 1), version=1),
        [
            event("ADDED", pod("b", 2)),
            event("MODIFIED", pod("a", 3)),
            event("DELETED", pod("b", 4)),
            STAY,
        ],
    )
    assert watched.changes == ["a:->1", "b:->2", "a:1->3", "b:2->"]
    assert watched.names() == ["a"]
    assert watched.cache.get("default", "b") is None


async def test_the_next_watch_starts_at_the_last_bookmark():
    watched = await play(
        page(version=1), [event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})]
    )
    assert watched.server.requests[-1][0]["resourceVersion"] == "50"


async def test_the_version_of_the_copy_is_that_of_its_last_change_or_of_a_later_bookmark():
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "12"}})
    watched = await play(
        page(pod("a", 1), version=9),
        [event("ADDED", pod("b", 10)), bookmark],
        [event("MODIFIED", pod("a", 15)), GONE],
        page(pod("a", 15), version=20),
    )
    assert watched.versions == ["9", "12", "20"]
    assert watched.cache.resource_version == "20"


async def test_while_a_list_is_repeated_the_copy_keeps_its_version():
    watched = await play(
        page(pod("a", 1), version=9), [GONE], Unavailable("down"), page(version=30)
    )
    assert watched.errors == [None, "down"]
    assert watched.versions_at_errors == ["9", "9"]


@pytest.mark.parametrize(
    "expiry",
    [
        pytest.param([GONE], id="as an event"),
        pytest.param(StatusError("old", code=410, reason="Expired"), id="as the response"),
    ],
)
async def test_an_expired_watch_lists_again_and_reports_only_the_differences(expiry):
    watched = await play(
        page(pod("kept", 1), pod("gone", 2), pod("changed", 3), version=3),
        expiry,
        page(pod("kept", 1), pod("changed", 7), pod("new", 8), version=9),
    )
    assert watched.changes[3:] == ["gone:2->", "changed:3->7", "new:->8"]
    assert watched.names() == ["changed", "kept", "new"]


async def test_after_a_continue_token_expired_the_list_comes_in_one_piece():
    watched = await play(
        page(pod("a", 1), version=1, continue_="t"),
        StatusError("old", code=410, reason="Expired"),
        page(pod("a", 1), pod("b", 2), version=5),
    )
    assert watched.names() == ["a", "b"]
    assert watched.server.requests[2][0] == {}
    assert watched.pauses_seconds == []


async def test_a_server_that_pages_without_end_does_not_fill_the_memory():
    endless = [page(version=1, continue_=f"t{number}") for number in range(8)]
    server = ScriptedServer(*endless)
    watched = Watched(server, objects_max=5)
    with pytest.raises(IndexError):  # the script ends while the second attempt lists
        await watched.cache.run()
    assert "more than 5 objects" in watched.cache.last_error
    assert len(watched.cache) == 0


REFUSED = StatusError('User "x" cannot watch pods', code=403, reason="Forbidden")


async def test_without_the_right_to_watch_the_list_is_repeated():
    watched = await play(
        page(pod("a", 1), version=1),
        REFUSED,
        page(pod("a", 1), pod("b", 2), version=2),
        REFUSED,
        page(pod("b", 2), version=3),
    )
    assert watched.changes == ["a:->1", "b:->2", "a:1->"]
    assert watched.pauses_seconds == [RELIST_SECONDS] * 2
    assert watched.cache.age_seconds == 0.0


async def test_a_refused_watch_is_logged_once_and_shown_until_the_next_is_accepted(caplog):
    caplog.set_level("INFO")
    watched = await play(
        page(version=1), REFUSED, page(version=2), REFUSED, page(version=3), [STAY]
    )
    assert len(watched.errors) == 2
    assert all("grant the verb watch" in error for error in watched.errors)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert watched.cache.last_error is None, "though no event has arrived"


async def test_after_a_watch_that_worked_a_refusal_is_tried_again_soon():
    """A kube-apiserver that has just started refuses everything until it has read the roles."""
    worked = [event("ADDED", pod("a", 2))]
    watched = await play(
        page(version=1), worked, REFUSED, page(version=2), REFUSED, page(version=3)
    )
    assert watched.pauses_seconds == [1.0, 0.8, RELIST_SECONDS]


async def test_a_slow_list_is_repeated_less_often():
    watched = Watched(ScriptedServer())

    async def slow(*_: object, **__: object) -> bytes:
        watched.now_seconds += 4.0
        return page(version=1)

    watched.server.get = slow
    watched.server.script = [REFUSED]
    task = asyncio.create_task(watched.cache.run())
    await asyncio.wait_for(watched.server.exhausted.wait(), timeout=DEADLINE_SECONDS)
    task.cancel()
    assert watched.pauses_seconds == [40.0]


@pytest.mark.parametrize(
    "failure",
    [
        StatusError("too large resource version", code=504, reason="Timeout"),
        [event("ERROR", {"kind": "Status", "code": 500, "message": "etcd"})],
        [b"not JSON"],
    ],
)
async def test_a_watch_that_the_server_fails_is_replaced_by_a_list(failure):
    watched = await play(page(pod("a", 1), version=1), failure, page(pod("b", 2), version=2))
    assert watched.names() == ["b"]


async def test_a_server_that_fails_every_watch_is_not_flooded_with_lists():
    failure = StatusError("overloaded", code=500, reason="InternalError")
    script = [answer for _ in range(4) for answer in (page(version=1), failure)]
    watched = await play(*script, page(version=1))
    assert watched.pauses_seconds == [0.8, 1.6, 3.2, 6.4]


async def test_the_age_is_the_time_since_the_server_last_confirmed_the_copy():
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "5"}})
    down = Unavailable("no route")
    watched = await play(page(version=1), down, down, page(version=1))
    assert watched.cache.age_seconds == pytest.approx(0.8 + 1.6)
    watched = await play(page(version=1), down, page(version=1), [bookmark, STAY])
    assert watched.cache.age_seconds == 0.0
    watched = await play(page(version=1), down, page(version=1), [GONE], down, page(version=2))
    assert watched.cache.age_seconds == 0.0


async def test_an_error_event_confirms_nothing():
    failed = [event("ERROR", {"kind": "Status", "code": 500, "message": "etcd"})]
    watched = Watched(ScriptedServer(page(version=1), failed, Unavailable("x")))
    with pytest.raises(IndexError):
        await watched.cache.run()
    assert watched.cache.age_seconds == pytest.approx(0.8 + 1.6)


async def test_the_pages_of_an_unfinished_list_confirm_nothing():
    failed = Unavailable("x")
    watched = await play(
        page(version=1), [GONE], page(version=2, continue_="t"), failed, page(version=3)
    )
    assert watched.cache.age_seconds == 0.0
    server = ScriptedServer(page(version=1), [GONE], page(version=2, continue_="t"), failed)
    watched = Watched(server)
    with pytest.raises(IndexError):
        await watched.cache.run()
    assert watched.cache.age_seconds == pytest.approx(0.8 + 1.6)


async def test_a_watch_that_ends_when_its_time_is_up_confirms_the_copy():
    watched = Watched(ScriptedServer(page(version=1)))

    async def quiet(
        *_: object, timeout_seconds: float, **__: object
    ) -> AsyncGenerator[bytes, None]:
        if watched.now_seconds:
            watched.server.exhausted.set()
            await asyncio.Event().wait()
        watched.now_seconds += timeout_seconds
        for line in ():
            yield line

    watched.server.watch = quiet
    task = asyncio.create_task(watched.cache.run())
    await asyncio.wait_for(watched.server.exhausted.wait(), timeout=DEADLINE_SECONDS)
    task.cancel()
    assert watched.cache.age_seconds == 0.0


async def test_the_copy_survives_failures_and_the_pauses_grow():
    down = Unavailable("no route")
    watched = await play(page(pod("a", 1), version=1), [], down, down, down, page(version=1))
    assert watched.names() == ["a"]
    assert watched.pauses_seconds == [0.8, 1.6, 3.2, 6.4]


async def test_a_failure_is_reported_until_it_is_over(caplog):
    caplog.set_level("INFO")
    watched = await play(Unavailable("no route"), Unavailable("no route"), page(version=1))
    assert watched.cache.last_error is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "no route" in caplog.text


async def test_an_object_that_cannot_be_decoded_hides_no_other(caplog):
    watched = await play(page({"metadata": {"name": 7}}, pod("a", 1), version=1))
    assert watched.names() == ["a"]
    assert "cannot be decoded" in caplog.text


async def test_a_bug_of_the_caller_does_not_stop_the_copy(caplog):
    server = ScriptedServer(page(pod("a", 1), version=1), [STAY])

    def broken(_old: PartialObject | None, _new: PartialObject | None) -> None:
        raise ValueError("a bug")

    cache = WatchCache(server, PATH, PartialObject, on_change=broken)
    task = asyncio.create_task(cache.run())
    await asyncio.wait_for(server.exhausted.wait(), timeout=DEADLINE_SECONDS)
    task.cancel()
    assert len(cache) == 1
    assert "a bug" in caplog.text


async def test_metadata_only_requests_no_more_than_metadata():
    watched = await play(page(pod("a", 1, labels={"app": "web"}), version=1), metadata_only=True)
    assert watched.server.requests[0][1] == METADATA_LIST
    item = watched.cache.get("default", "a")
    assert item is not None
    assert item.metadata.labels == {"app": "web"}


def test_a_partial_object_keeps_no_annotations():
    raw = b'{"metadata":{"name":"a","annotations":{"big":"x"}},"spec":{}}'
    item = msgspec.json.decode(raw, type=PartialObject)
    assert not hasattr(item.metadata, "annotations")
