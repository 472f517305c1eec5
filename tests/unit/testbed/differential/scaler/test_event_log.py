"""The events of a cluster are followed over any end of a watch."""

import asyncio
import contextlib
import json

import pytest

from testbed.differential.scaler.observed_state import ObservedEvent
from testbed.differential.scaler.side import EventLog
from tests.fakes import virtual_time
from wire.api.status import StatusError, Unavailable


def added(name, version):
    about = {"namespace": "shop", "name": "web"}
    metadata = {"name": name, "resourceVersion": version}
    event = {"metadata": metadata, "involvedObject": about, "type": "Normal", "reason": name}
    return {"type": "ADDED", "object": event | {"message": "m"}}


EXPIRED = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "metadata": {}}}


class Watches:
    """Each watch has some changes, and ends with an error or without one. The last one stays open."""

    def __init__(self, *watches):
        self.watches = list(watches)
        self.began_at = []

    async def watch(self, path, params):
        self.began_at.append(params.get("resourceVersion", ""))
        *changes, end = self.watches.pop(0)
        for each in changes:
            yield json.dumps(each).encode()
        if isinstance(end, Exception):
            raise end
        if end == "open":
            await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("end", "continues_at"),
    [
        (["ended"], "5"),
        ([Unavailable("closed")], ""),
        ([EXPIRED, "ended"], ""),
        ([StatusError("too old", code=410, reason="Expired")], ""),
    ],
    ids=["ended by the server", "cut", "a version that is too old", "refused"],
)
def test_events_are_followed_after_a_watch_has_ended(end, continues_at):
    async def scenario():
        kube = Watches([added("First", "5"), *end], [added("Second", "6"), "open"])
        log = EventLog(kube)
        following = asyncio.create_task(log.follow())
        await virtual_time.passes(1.0)
        assert kube.began_at == ["", continues_at]
        assert log.about("shop", "web", counted=True) == (
            ObservedEvent("Normal", "First", "m", 1),
            ObservedEvent("Normal", "Second", "m", 1),
        )
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following

    virtual_time.run(scenario())


@pytest.mark.parametrize(
    ("change", "expected_seconds"),
    [
        pytest.param({}, 31.0, id="a new event"),
        pytest.param({"type": "MODIFIED"}, 0.0, id="one that is repeated"),
    ],
)
def test_the_log_knows_how_late_events_are_stored(change, expected_seconds):
    late = added("First", "5")
    late["object"]["firstTimestamp"] = "2026-11-25T16:03:18Z"
    late["object"]["metadata"]["creationTimestamp"] = "2026-11-25T16:03:49Z"

    async def scenario():
        log = EventLog(Watches([late | change, "open"]))
        following = asyncio.create_task(log.follow())
        await virtual_time.passes(1.0)
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        return log.late_seconds

    assert virtual_time.run(scenario()) == expected_seconds
