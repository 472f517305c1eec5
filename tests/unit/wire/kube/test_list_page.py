"""Something else that responds to a LIST, such as a proxy, is not taken for an empty list, and a LIST ends."""

import itertools

import msgspec
import pytest

from tests.unit.wire.kube.test_cache import GONE, STAY, page, play, pod
from wire.api.status import Unavailable
from wire.kube.list_and_watch import list_page, pages

NOT_LISTS = [
    b"{}",
    b'{"kind": "Status", "metadata": {}}',
    b'{"items": {}}',
    b"<html></html>",
    b"[]",
]


@pytest.mark.parametrize("body", NOT_LISTS)
def test_what_is_not_a_list_cannot_be_decoded(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        list_page(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata": {"resourceVersion": "3"}, "items": []}',
        b'{"metadata": {"resourceVersion": "3"}, "items": null}',
        b'{"items": []}',  # of an aggregated API without versions
    ],
)
def test_an_empty_list_is_one(body: bytes) -> None:
    assert list_page(body).items == ()


@pytest.mark.parametrize("body", NOT_LISTS)
async def test_the_copy_is_kept_until_there_is_a_list_again(body: bytes) -> None:
    watched = await play(
        page(pod("a", 1), version=1), [GONE], body, page(pod("a", 1), version=2), [STAY]
    )
    assert watched.changes == ["a:->1"]
    assert watched.names() == ["a"]


async def listed(responses, **limits):
    """The number of objects in each page."""
    following = iter(responses)

    async def get(_params):
        return next(following)

    return [len(each.items) async for each in pages("/api/v1/pods", get, {}, 2, **limits)]


async def test_pages_may_be_empty_and_followed_by_others():
    tokens = [page(version=1, continue_="a"), page(pod("a", 1), version=1, continue_="b")]
    assert await listed([*tokens, page(pod("b", 1), version=1)], objects_max=3) == [0, 1, 1]


@pytest.mark.parametrize("objects", [[], [pod("a", 1), pod("b", 1)]], ids=["empty", "with objects"])
async def test_a_list_whose_pages_do_not_end_is_given_up(objects):
    endless = (page(*objects, version=1, continue_=f"t{number}") for number in itertools.count())
    with pytest.raises(Unavailable, match="/api/v1/pods has more than 10 objects"):
        await listed(endless, objects_max=10)


async def test_a_page_that_is_followed_by_itself_is_the_last_one_that_is_requested():
    same = page(pod("a", 1), version=1, continue_="t")
    with pytest.raises(Unavailable, match=r"/api/v1/pods: .* the same `continue` twice"):
        await listed([same, same])
