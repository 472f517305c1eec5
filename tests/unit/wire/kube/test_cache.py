"""The cache against a scripted API server: each LIST and each WATCH is one prepared answer."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest

from wire.backoff import Backoff
from wire.kube.cache import METADATA_LIST, PartialObject, WatchCache
from wire.kube.requests import JSON
from wire.status import StatusError, Unavailable

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
    """Plays its answers in order, then lets the last watch stay open."""

    def __init__(self, *answers: bytes | Exception | list[bytes]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Mapping[str, str], str]] = []
        self.exhausted = asyncio.Event()

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.asked.append((dict(params or {}), accept))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, bytes), "a WATCH was expected"
        return answer

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        timeout_seconds: float = 1,
    ) -> AsyncGenerator[bytes, None]:
        self.asked.append((dict(params or {}), accept))
        answer = self.answers.pop(0) if self.answers else [STAY]
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, list), "a LIST was expected"
        for line in answer:
            if line is STAY:
                self.exhausted.set()
                await asyncio.Event().wait()
            yield line


class Watched:
    """A running cache and what it said."""

    def __init__(self, server: ScriptedServer, *, metadata_only: bool = False) -> None:
        self.server = server
        self.changes: list[str] = []
        self.pauses_seconds: list[float] = []
        self.cache = WatchCache(
            server,
            PATH,
            PartialObject,
            metadata_only=metadata_only,
            on_change=self.note,
            backoff=Backoff(chance=lambda: 0.0),
            sleep=self.pause,
            monotonic=lambda: 0.0,
        )

    def note(self, old: PartialObject | None, new: PartialObject | None) -> None:
        before = old.metadata.resource_version if old else ""
        after = new.metadata.resource_version if new else ""
        some = new or old
        assert some
        self.changes.append(f"{some.metadata.name}:{before}->{after}")

    async def pause(self, seconds: float) -> None:
        self.pauses_seconds.append(seconds)

    def names(self) -> list[str]:
        return sorted(item.metadata.name for item in self.cache.items)


async def play(*answers: bytes | Exception | list[bytes], metadata_only: bool = False) -> Watched:
    """Run a cache until the script is at its end and the last watch stays open."""
    server = ScriptedServer(*answers, [STAY])
    watched = Watched(server, metadata_only=metadata_only)
    task = asyncio.create_task(watched.cache.run())
    exhausted = asyncio.create_task(server.exhausted.wait())
    await asyncio.wait({task, exhausted}, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    exhausted.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return watched


async def test_a_list_in_pages_is_one_copy():
    watched = await play(
        page(pod("a", 1), version=9, continue_="t"), page(pod("b", 2, "other"), version=9)
    )
    assert watched.names() == ["a", "b"]
    assert watched.cache.is_synced
    assert [item.metadata.name for item in watched.cache.list("other")] == ["b"]
    assert [asked.get("continue") for asked, _ in watched.server.asked[:2]] == [None, "t"]
    assert watched.server.asked[2][0]["resourceVersion"] == "9"


async def test_events_change_the_copy_and_are_told():
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


async def test_a_bookmark_moves_the_place_where_the_next_watch_goes_on():
    watched = await play(
        page(version=1), [event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})]
    )
    assert watched.server.asked[-1][0]["resourceVersion"] == "50"


@pytest.mark.parametrize(
    "expiry",
    [
        pytest.param([GONE], id="as an event"),
        pytest.param(StatusError("old", code=410, reason="Expired"), id="as the answer"),
    ],
)
async def test_an_expired_watch_lists_again_and_tells_only_the_difference(expiry):
    watched = await play(
        page(pod("kept", 1), pod("gone", 2), pod("changed", 3), version=3),
        expiry,
        page(pod("kept", 1), pod("changed", 7), pod("new", 8), version=9),
    )
    assert watched.changes[3:] == ["gone:2->", "changed:3->7", "new:->8"]
    assert watched.names() == ["changed", "kept", "new"]


async def test_a_continue_token_that_expired_starts_the_list_from_its_beginning():
    watched = await play(
        page(pod("a", 1), version=1, continue_="t"),
        StatusError("old", code=410, reason="Expired"),
        page(pod("a", 1), pod("b", 2), version=5),
    )
    assert watched.names() == ["a", "b"]
    assert "continue" not in watched.server.asked[2][0]


async def test_the_copy_outlives_failures_and_pauses_grow():
    down = Unavailable("no route")
    watched = await play(page(pod("a", 1), version=1), [], down, down, down)
    assert watched.names() == ["a"]
    assert watched.pauses_seconds == [0.8, 1.6, 3.2, 6.4]


async def test_a_failure_is_visible_until_it_is_over(caplog):
    caplog.set_level("INFO")
    watched = await play(Unavailable("no route"), Unavailable("no route"), page(version=1))
    assert watched.cache.last_error == ""
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "no route" in caplog.text


async def test_an_object_that_does_not_decode_hides_no_other(caplog):
    watched = await play(page({"metadata": {"name": 7}}, pod("a", 1), version=1))
    assert watched.names() == ["a"]
    assert "does not decode" in caplog.text


async def test_a_listener_that_fails_stops_nothing(caplog):
    server = ScriptedServer(page(pod("a", 1), version=1), [STAY])
    watched = Watched(server)

    def broken(_old: PartialObject | None, _new: PartialObject | None) -> None:
        raise ValueError("a bug")

    watched.cache._listeners.insert(0, broken)
    task = asyncio.create_task(watched.cache.run())
    await asyncio.wait_for(watched.cache.synced(), timeout=5)
    task.cancel()
    assert watched.changes == ["a:->1"]
    assert "a bug" in caplog.text


async def test_metadata_only_asks_for_metadata_only():
    watched = await play(page(pod("a", 1, labels={"app": "web"}), version=1), metadata_only=True)
    assert watched.server.asked[0][1] == METADATA_LIST
    item = watched.cache.get("default", "a")
    assert item is not None
    assert item.metadata.labels == {"app": "web"}


def test_a_partial_object_keeps_no_annotations():
    raw = b'{"metadata":{"name":"a","annotations":{"big":"x"}},"spec":{}}'
    item = msgspec.json.decode(raw, type=PartialObject)
    assert not hasattr(item.metadata, "annotations")
