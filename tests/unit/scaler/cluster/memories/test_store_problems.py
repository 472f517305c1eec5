"""What the log says when memories cannot be read or written, and how often."""

import logging
from itertools import islice

import pytest

from scaler.cluster.memories.scaling_memory import object_names
from scaler.cluster.memories.store import MemoryStore, storing
from scaler.cluster.shards.assignment import ALL_SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server
from wire.api.status import forbidden, not_found

PERIOD_SECONDS = 15.0


def logged(caplog, server, *, existing=dict, period_seconds=PERIOD_SECONDS, periods=4):
    """The records of a process that reads and stores for so many periods."""

    async def scenario():
        store = MemoryStore(server, namespace="loadline", period_seconds=period_seconds)
        async with storing(store):
            store.begin(ALL_SHARDS, existing)
            await virtual_time.passes(periods * period_seconds)

    with caplog.at_level(logging.INFO):
        virtual_time.run(scenario())
    return caplog.records


@pytest.mark.parametrize(
    ("error", "names_the_definition"),
    [
        pytest.param(not_found("no such kind"), True, id="404"),
        pytest.param(forbidden("no"), False, id="403"),
    ],
)
def test_only_a_missing_kind_is_explained_by_its_definition(caplog, error, names_the_definition):
    server = Server()
    server.failures = [error] * 99
    [problem] = logged(caplog, server)
    assert error.message in problem.message
    assert ("CustomResourceDefinition" in problem.message) is names_the_definition


def test_a_bug_that_lasts_has_one_traceback_in_the_log(caplog):
    def existing():
        raise ZeroDivisionError("a bug")

    records = logged(caplog, Server(), existing=existing)
    assert len([each for each in records if each.exc_info]) == 1


def test_memories_that_were_read_in_time_are_not_reported_later(caplog):
    assert logged(caplog, Server()) == []


def test_a_response_that_does_not_come_within_a_period_is_reported(caplog):
    server = Server()
    server.is_hanging = True
    [problem] = logged(caplog, server, period_seconds=2.0, periods=1.5)
    assert "no response within 2s" in problem.message


def test_the_objects_of_a_namespace_are_numbered_from_the_second_one_on():
    assert [*islice(object_names("shop"), 3)] == ["shop", "shop.1", "shop.2"]
