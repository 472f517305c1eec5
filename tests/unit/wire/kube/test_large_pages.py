"""A page of a LIST with large objects is requested in smaller pieces. Users choose how large objects are."""

import json
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
from aiohttp import web

from tests.unit.wire.kube.test_cache import page, play, pod
from tests.unit.wire.kube.test_client import client_of
from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.list_and_watch import pages
from wire.kube.requests import PageTooLarge

OBJECT_BYTES = 1_000
PAGE_BYTES_MAX = 10 * OBJECT_BYTES


class Lister:
    """Lists objects of these sizes, and notes the limits that were requested."""

    def __init__(self, *sizes_bytes: int) -> None:
        self.sizes_bytes = sizes_bytes
        self.limits: list[str | None] = []

    async def respond(self, request: web.Request) -> web.Response:
        return web.Response(body=self.page(request.query), content_type="application/json")

    def page(self, params: Mapping[str, str]) -> bytes:
        self.limits.append(params.get("limit"))
        begin = int(params.get("continue", "0"))
        end = begin + int(params.get("limit", len(self.sizes_bytes)))
        continue_ = str(end) if end < len(self.sizes_bytes) else ""
        items = [
            {"number": begin + index, "text": "x" * size}
            for index, size in enumerate(self.sizes_bytes[begin:end])
        ]
        metadata = {"resourceVersion": "9", "continue": continue_}
        return json.dumps({"metadata": metadata, "items": items}).encode()


@pytest.fixture
async def connected() -> AsyncIterator[Callable[[Lister], object]]:
    runners: list[web.ServerRunner] = []
    clients: list[KubeClient] = []

    async def connect(lister: Lister) -> KubeClient:
        runner = web.ServerRunner(web.Server(lister.respond))
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        client = await client_of(address, page_bytes_max=PAGE_BYTES_MAX)
        clients.append(client)
        return client

    yield connect
    for client in clients:
        await client.close()
    for runner in runners:
        await runner.cleanup()


async def listed(client: KubeClient, limit: int | None) -> list[int]:
    """The numbers of the objects."""
    found = []

    async def get(params: dict[str, str]) -> bytes:
        return await client.get("/objects", params)

    async for each in pages("/api/v1/pods", get, {}, limit):
        found += [json.loads(bytes(raw))["number"] for raw in each.items]
    return found


async def test_a_page_that_is_too_large_is_requested_in_smaller_pieces(connected):
    lister = Lister(*[OBJECT_BYTES] * 32)
    assert await listed(await connected(lister), 32) == list(range(32))
    assert lister.limits == ["32", "16", "8", "8", "8", "8"]


async def test_a_single_object_may_be_larger_than_a_page(connected):
    lister = Lister(10, 2 * PAGE_BYTES_MAX, 2 * PAGE_BYTES_MAX, 10)
    assert await listed(await connected(lister), 4) == list(range(4))
    assert lister.limits[:3] == ["4", "2", "1"]


async def test_pages_become_larger_again_after_the_large_objects(connected):
    lister = Lister(*[PAGE_BYTES_MAX] * 3, *[10] * 40)
    assert await listed(await connected(lister), 32) == list(range(43))
    assert lister.limits[:6] == ["32", "16", "8", "4", "2", "1"]
    assert "16" in lister.limits[6:]
    assert len(lister.limits) < 20


async def test_pages_that_are_not_too_large_all_have_the_limit(connected):
    lister = Lister(*[10] * 10)
    assert await listed(await connected(lister), 4) == list(range(10))
    assert lister.limits == ["4", "4", "4"]


async def test_a_list_in_one_piece_is_not_a_page(connected):
    lister = Lister(*[OBJECT_BYTES] * 32)
    assert await listed(await connected(lister), None) == list(range(32))
    assert lister.limits == [None]


async def test_the_limit_of_a_page_names_the_request(connected):
    client = await connected(Lister(*[OBJECT_BYTES] * 32))
    with pytest.raises(PageTooLarge, match=r"GET http://.*/objects: .* larger than 10000 bytes"):
        await client.get("/objects", {"limit": "32"})
    assert issubclass(PageTooLarge, Unavailable)


async def test_objects_that_become_larger_within_a_list_make_the_pages_smaller(connected):
    lister = Lister(*[10] * 4, *[6 * OBJECT_BYTES] * 4)
    assert await listed(await connected(lister), 4) == list(range(8))
    assert lister.limits == ["4", "4", "2", "1", "1", "1", "1"]


async def test_after_a_continue_token_expired_large_objects_come_in_the_pages_that_they_need():
    """In one piece they would be too large."""
    expired = StatusError("old", code=410, reason="Expired")
    too_large = PageTooLarge("too large", bytes_max=100)
    watched = await play(
        too_large,
        too_large,
        page(pod("a", 1), version=1, continue_="t"),
        expired,
        page(pod("a", 1), version=5, continue_="u"),
        page(pod("b", 2), version=5),
    )
    assert watched.names() == ["a", "b"]
    sizes = [params.get("limit") for params, _ in watched.server.requests[:6]]
    assert sizes == ["500", "250", "125", "125", "125", "125"]
    assert watched.pauses_seconds == []


async def test_after_a_second_continue_token_expired_the_list_comes_in_one_piece():
    expired = StatusError("old", code=410, reason="Expired")
    watched = await play(
        PageTooLarge("too large", bytes_max=100),
        page(pod("a", 1), version=1, continue_="t"),
        expired,
        page(pod("a", 1), version=5, continue_="u"),
        expired,
        page(pod("a", 1), pod("b", 2), version=9),
    )
    assert watched.names() == ["a", "b"]
    assert watched.server.requests[5][0] == {}
