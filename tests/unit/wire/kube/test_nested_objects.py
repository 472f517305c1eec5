"""An object whose `managedFields`, which any user may write, Go reads and msgspec does not: it hides no other object."""

import json

import pytest

from tests.unit.wire.kube.test_cache import STAY, event, page, play, pod
from tests.unit.wire.kube.test_cache_objects import numbered

# As encoding/json: kube-apiserver accepts no document with more.
LEVELS = 10_000
MARK = json.dumps("the fields")


def written(document: bytes, fields: bytes) -> bytes:
    assert MARK.encode() in document
    return document.replace(MARK.encode(), fields)


def unusual(name: str, version: int, **more: object) -> dict[str, object]:
    return (
        pod(name, version, managedFields=[{"manager": "me", "fieldsV1": json.loads(MARK)}]) | more
    )


FIELDS = [
    pytest.param(b'{"f:a":' * LEVELS + b"{}" + b"}" * LEVELS, id="deep"),
    pytest.param(rb'{"f:\ud800":{}}', id="half a surrogate pair"),
    pytest.param(b'{"f:\xff":{}}', id="not UTF-8"),
]


@pytest.mark.parametrize("fields", FIELDS)
async def test_in_a_list_it_is_read_as_any_other(fields):
    listed = page(pod("a", 1), unusual("b", 2), pod("c", 3), version=9)
    watched = await play(written(listed, fields))
    assert watched.names() == ["a", "b", "c"]
    assert watched.pauses_seconds == []


@pytest.mark.parametrize("fields", FIELDS)
async def test_in_a_watch_it_is_read_as_any_other(fields, caplog):
    watched = await play(
        page(pod("a", 1), pod("d", 2), version=9),
        [
            written(event("MODIFIED", unusual("a", 10)), fields),
            written(event("ADDED", unusual("b", 11)), fields),
            event("ADDED", pod("c", 12)),
            written(event("DELETED", unusual("d", 13)), fields),
            STAY,
        ],
    )
    assert watched.changes[2:] == ["a:1->10", "b:->11", "c:->12", "d:2->"]
    assert len(watched.server.requests) == 2, "no further LIST"
    assert watched.cache.resource_version == "13"
    assert caplog.text == ""


@pytest.mark.parametrize("fields", FIELDS)
async def test_what_is_wrong_beside_it_concerns_that_object_only(fields):
    good = {**pod("a", 1), "spec": 7}
    bad = unusual("a", 11, spec="seven")
    null = unusual("b", 12, spec=None)
    kept, changes = await numbered(
        page(good, version=9),
        [written(event("MODIFIED", bad), fields), written(event("ADDED", null), fields), STAY],
    )
    assert kept == {"a": 7, "b": 0}
    assert changes == [(None, 7), (None, 0)]
