"""Something else that responds to a LIST, such as a proxy, is not taken for an empty list."""

import msgspec
import pytest

from tests.unit.wire.kube.test_cache import GONE, STAY, page, play, pod
from wire.kube.list_and_watch import list_page

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
