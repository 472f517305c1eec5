"""A cache whose API server has earlier versions than before, because etcd was restored from a backup."""

import pytest

from tests.unit.wire.kube.test_cache import STAY, Watched, event, page, play, pod
from wire.api.status import StatusError, Unavailable
from wire.kube.list_and_watch import is_earlier

DOWN = Unavailable("connection refused")


def limits(watched: Watched) -> list[str]:
    """Of each LIST, and "watch" for each WATCH."""
    return [params.get("limit", "watch") for params, _ in watched.server.requests]


@pytest.mark.deviation("restored-versions")
async def test_what_a_restore_undoes_is_forgotten_after_a_failed_connection():
    watched = await play(
        page(pod("a", 7), pod("b", 8), version=9), DOWN, page(version=5), page(pod("a", 4), version=5)
    )  # fmt: skip
    assert watched.changes == ["a:->7", "b:->8", "b:8->", "a:7->4"]
    assert limits(watched) == ["500", "watch", "1", "500", "watch"]
    assert "resourceVersion" not in watched.server.requests[2][0]


@pytest.mark.parametrize("present", ["9", "10", "x"])
async def test_a_version_that_is_not_an_earlier_number_continues_the_watch(present: str):
    watched = await play(page(pod("a", 7), version=9), DOWN, page(version=present))
    assert limits(watched) == ["500", "watch", "1", "watch"]
    assert watched.server.requests[-1][0]["resourceVersion"] == "9"


async def test_a_known_version_that_is_not_a_number_continues_the_watch():
    watched = await play(page(pod("a", 7), version="x"), DOWN, page(version=1))
    assert watched.server.requests[-1][0]["resourceVersion"] == "x"


async def test_a_watch_that_ends_as_usual_is_opened_again_without_a_list():
    watched = await play(page(version=1), [event("MODIFIED", pod("a", 2))])
    assert limits(watched) == ["500", "watch", "watch"]


async def test_the_version_is_compared_once_the_server_responds():
    watched = await play(page(pod("a", 7), version=9), DOWN, DOWN, page(version=5), page(version=5))
    assert limits(watched) == ["500", "watch", "1", "1", "500", "watch"]
    assert watched.names() == []


@pytest.mark.deviation("restored-versions")
async def test_the_version_is_compared_once_for_each_failure():
    modified = [event("MODIFIED", pod("a", 10))]
    watched = await play(page(version=9), DOWN, page(version=9), modified)
    assert limits(watched) == ["500", "watch", "1", "watch", "watch"]


async def test_the_same_version_may_be_another_object_after_a_restore():
    again = pod("a", 7, labels={"x": "new"})
    watched = await play(
        page(pod("a", 7), version=9), DOWN, page(version=8), page(again, version=8)
    )
    assert [each.metadata.labels for each in watched.cache.items] == [{"x": "new"}]


async def test_versions_are_unknown_until_they_are_later_than_before_the_restore():
    failed = StatusError("etcd", code=500, reason="InternalError")
    script = (page(version=9), failed, page(version=5))
    watched = await play(*script)
    assert watched.cache.resource_version == ""
    watched = await play(*script, [event("MODIFIED", pod("a", 9)), STAY])
    assert watched.cache.resource_version == "9"


@pytest.mark.parametrize(
    ("version", "than", "earlier"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("007", "8", True),
        ("7", "7", False),
        ("x", "8", False),
        ("٣", "8", False),
        ("1" * 5_000, "2" * 5_000, True),  # Python reads no such number
        ("2" * 5_000, "1" * 5_000, False),
    ],
)
def test_versions_are_compared_as_numbers_of_any_length(version, than, earlier):
    assert is_earlier(version, than) is earlier
