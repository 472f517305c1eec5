"""A server, or a gateway before it, that ends each watch soon is sent few requests."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from tests.unit.wire.kube.test_cache import GONE, ScriptedServer, Watched, event, page, play, pod
from wire.api.status import StatusError, Unavailable
from wire.kube.watch_pace import WATCH_SECONDS_MIN, WATCH_WORKS_SECONDS

BOOKMARK = event("BOOKMARK", {"metadata": {"resourceVersion": "12"}})
WITHOUT_VERSION = event("BOOKMARK", {"metadata": {}})
TIMEOUT = StatusError("timeout", code=504, reason="Timeout")
FAILED = event("ERROR", {"kind": "Status", "code": 500, "message": "etcd"})


@pytest.mark.deviation("short-watches")
@pytest.mark.parametrize("events", [[BOOKMARK], [WITHOUT_VERSION], [event("ADDED", pod("a", 12))]])
async def test_a_second_lies_between_the_beginnings_of_two_watches(events):
    watched = await play(page(version=9), events, events, events)
    assert watched.pauses_seconds == [WATCH_SECONDS_MIN] * 3
    assert len(watched.server.requests) == 5, "one LIST"


@pytest.mark.parametrize("nameless", [WITHOUT_VERSION, event("ADDED", {"metadata": {"name": "a"}})])
async def test_an_event_without_a_version_does_not_change_that_of_the_next_watch(nameless):
    watched = await play(page(version=9), [BOOKMARK, nameless])
    assert watched.server.requests[-1][0]["resourceVersion"] == "12"
    assert watched.cache.resource_version == "12"


async def test_lists_without_a_version_become_rarer_if_their_watches_are_short():
    listed = page(pod("a", 1), version=0).replace(b'"resourceVersion": "0"', b'"x": "0"')
    watched = await play(*([listed, [WITHOUT_VERSION]] * 3), listed)
    assert watched.pauses_seconds == [0.8, 1.6, 3.2]


@pytest.mark.parametrize("failed", [[BOOKMARK, FAILED], [event("ADDED", pod("a", 12)), FAILED]])
async def test_events_before_a_failure_do_not_make_lists_more_frequent(failed):
    watched = await play(*([page(version=9), failed] * 4), page(version=9))
    assert watched.pauses_seconds == [0.8, 1.6, 3.2, 6.4]


class Lasting(ScriptedServer):
    """An event of its watches is followed by a silence, and then the connection may break; a response may take long."""

    broken: Exception | None = None

    def __init__(
        self,
        *script: bytes | Exception | list[bytes],
        seconds: float,
        until_response_seconds: float = 0.0,
    ) -> None:
        super().__init__(*script)
        self.watched = Watched(self)
        self.seconds = seconds
        self.until_response_seconds = until_response_seconds

    async def watch(self, *args: object, **options: object) -> AsyncGenerator[bytes, None]:
        self.watched.now_seconds += self.until_response_seconds
        async for line in super().watch(*args, **options):
            yield line
            self.watched.now_seconds += self.seconds
        if self.broken is not None:
            raise self.broken


async def pauses_after(server: Lasting) -> list[float]:
    """Until the end of the script."""
    running = asyncio.create_task(server.watched.cache.run())
    exhausted = asyncio.create_task(server.exhausted.wait())
    await asyncio.wait([running, exhausted], return_when=asyncio.FIRST_COMPLETED)
    assert not running.done()
    running.cancel()
    return server.watched.pauses_seconds


@pytest.mark.parametrize(
    ("seconds", "pauses_seconds"),
    [
        pytest.param(WATCH_WORKS_SECONDS, [0.8, 1.6, 0.8], id="long"),
        pytest.param(WATCH_WORKS_SECONDS - 1, [0.8, 1.6, 3.2], id="short"),
    ],
)
async def test_the_pauses_are_short_again_after_a_watch_that_has_lasted(seconds, pauses_seconds):
    listed = page(version=9)
    script = [listed, TIMEOUT, listed, TIMEOUT, listed, [BOOKMARK, FAILED], page(version=13)]
    assert await pauses_after(Lasting(*script, seconds=seconds)) == pauses_seconds


@pytest.mark.parametrize(
    ("seconds", "pauses_seconds"),
    [
        pytest.param(4.0, [0.8, 1.6, 3.2, 4.0, 4.0, 4.0], id="seconds"),
        pytest.param(1.5, [0.8, 1.5, 1.5, 1.5, 1.5, 1.5], id="little more than a second"),
        pytest.param(0.9, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6], id="less"),
    ],
)
async def test_a_cache_is_without_a_watch_for_as_long_as_it_had_one_at_most(
    seconds, pauses_seconds
):
    """Also if each watch must be followed by a LIST. Only after watches that end at once may the pauses be longer."""
    server = Lasting(
        *([page(version=12), [event("ADDED", pod("a", 12)), GONE]] * 6), page(version=13),
        seconds=seconds,
    )  # fmt: skip
    assert await pauses_after(server) == pytest.approx(pauses_seconds)


async def test_a_list_that_fails_after_a_watch_is_repeated_more_rarely_each_time():
    listed = page(version=9)
    script = [listed, [BOOKMARK, GONE], *[TIMEOUT] * 5, listed]
    assert await pauses_after(Lasting(*script, seconds=1.0)) == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6]


async def test_a_watch_that_has_lasted_is_followed_at_once_by_the_next():
    server = Lasting(page(version=9), [BOOKMARK], [BOOKMARK], seconds=WATCH_SECONDS_MIN)
    assert await pauses_after(server) == []


async def test_the_time_without_a_response_is_not_that_of_a_watch():
    listed = page(version=9)
    script = [listed, TIMEOUT, listed, TIMEOUT, listed]
    server = Lasting(*script, seconds=0, until_response_seconds=WATCH_WORKS_SECONDS)
    assert await pauses_after(server) == [0.8, 1.6]


@pytest.mark.parametrize(
    ("seconds", "pauses_seconds"),
    [
        pytest.param(2 * WATCH_SECONDS_MIN, [0.8, 0.8], id="after a second"),
        pytest.param(WATCH_SECONDS_MIN / 2, [0.8, 1.6], id="at once"),
    ],
)
async def test_a_watch_whose_connection_breaks_continues_soon(seconds, pauses_seconds):
    there = page(version=12)  # whether the versions have gone back
    server = Lasting(page(version=9), [BOOKMARK], there, [BOOKMARK], there, seconds=seconds)
    server.broken = Unavailable("connection reset")
    assert await pauses_after(server) == pauses_seconds


@pytest.mark.deviation("restored-versions")
@pytest.mark.parametrize(
    ("seconds", "last_pause_seconds"),
    [
        pytest.param(WATCH_WORKS_SECONDS, 0.8, id="long"),
        pytest.param(WATCH_WORKS_SECONDS - 1, 25.6, id="short"),
    ],
)
async def test_what_has_expired_during_an_outage_is_listed_soon_after_it(
    seconds, last_pause_seconds
):
    """As after a restore of etcd with later versions: if the watch had worked, the pauses of the outage are over."""
    down = Unavailable("connection refused")
    server = Lasting(
        page(version=9), [BOOKMARK], *[down] * 4, page(version=1_000), [GONE], page(version=1_001),
        seconds=seconds,
    )  # fmt: skip
    server.broken = Unavailable("connection reset")
    assert await pauses_after(server) == [0.8, 1.6, 3.2, 6.4, 12.8, last_pause_seconds]


async def test_lists_become_rarer_where_every_second_watch_has_expired():
    script = [page(version=12), [BOOKMARK], [GONE]] * 5
    server = Lasting(*script, page(version=12), seconds=2 * WATCH_SECONDS_MIN)
    assert await pauses_after(server) == [0.8, 1.6, 3.2, 6.4, 12.8]
