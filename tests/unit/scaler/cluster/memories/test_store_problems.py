"""What the log says when memories cannot be read or written, and how often."""

import json
import logging
from itertools import islice

import pytest

from scaler.cluster.memories.scaling_memory import object_names
from scaler.cluster.memories.store import MemoryStore, storing
from scaler.cluster.shards.assignment import ALL_SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server, history, over, read
from wire.api.status import Unavailable, forbidden, not_found

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


class RefusesSome(Server):
    """Writes of the memories of these namespaces fail."""

    def __init__(self, error, *namespaces):
        super().__init__()
        self.error = error
        self.refused = set(namespaces)
        self.attempts = []

    async def create(self, path, body, params=None):
        namespace = json.loads(body)["watchedNamespace"]
        self.attempts.append(namespace)
        if namespace in self.refused:
            raise self.error
        return await super().create(path, body, params)


ERRORS = [
    pytest.param(forbidden("exceeded quota"), id="403"),
    pytest.param(not_found("said a webhook"), id="404"),
    pytest.param(Unavailable("timed out"), id="no response"),
]


@pytest.mark.parametrize("error", ERRORS)
async def test_memories_that_cannot_be_written_do_not_keep_others_from_being_written(error):
    server = RefusesSome(error, "bank")
    store = over(server)
    await read(store, {})
    for namespace in ("bank", "shop", "mail"):
        store.put(namespace, f"of-{namespace}", history(3), is_urgent=False)
    await store.flush()
    assert server.uids() == {"shop": ["of-shop"], "mail": ["of-mail"]}


@pytest.mark.parametrize("error", ERRORS)
def test_a_change_of_replicas_is_written_at_once_while_the_memories_of_another_namespace_cannot_be(
    error,
):
    server = RefusesSome(error, "bank")

    async def scenario():
        store = MemoryStore(server, namespace="loadline", period_seconds=PERIOD_SECONDS)
        async with storing(store):
            store.begin(ALL_SHARDS, dict)
            await store.read_or_late("bank")
            store.put("bank", "u1", history(3), is_urgent=True)
            await virtual_time.passes(1.0)
            store.put("bank", "u1", history(4), is_urgent=True)
            store.put("shop", "u2", history(3), is_urgent=True)
            await virtual_time.passes(1.0)
            assert server.uids() == {"shop": ["u2"]}
            assert server.attempts.count("bank") == 1, "it is tried again in the next period"
            server.refused.clear()
            await virtual_time.passes(PERIOD_SECONDS)
            assert server.uids() == {"shop": ["u2"], "bank": ["u1"]}

    virtual_time.run(scenario())


def test_what_cannot_be_written_is_tried_again_once_per_period_however_often_others_are(caplog):
    server = RefusesSome(forbidden("exceeded quota"), "bank")

    async def scenario():
        store = MemoryStore(server, namespace="loadline", period_seconds=PERIOD_SECONDS)
        async with storing(store):
            store.begin(ALL_SHARDS, dict)
            await store.read_or_late("bank")
            store.put("bank", "u1", history(3), is_urgent=True)
            for second in range(int(4 * PERIOD_SECONDS)):
                store.put("shop", "u2", history(second + 1), is_urgent=True)
                await virtual_time.passes(1.0)
            assert 4 <= server.attempts.count("bank") <= 5

    virtual_time.run(scenario())
    assert caplog.text.count("are not stored") == 1


async def test_a_server_that_refuses_all_is_sent_few_requests_and_each_memory_gets_its_turn():
    namespaces = [f"n{number}" for number in range(10)]
    server = RefusesSome(forbidden("no"), *namespaces)
    store = over(server)
    await read(store, {})
    for each in namespaces:
        store.put(each, f"of-{each}", history(3), is_urgent=False)
    for _ in range(5):
        await store.flush()
    assert sorted(server.attempts) == namespaces


@pytest.mark.parametrize("method", ["get", "create", "replace"])
async def test_a_response_that_is_not_a_memory_does_not_keep_it_from_being_stored_later(method):
    """Of a gateway: the object has neither lost its name nor its version."""
    server = Server()
    store = over(server)
    await read(store, {})
    store.put("shop", "u1", history(1), is_urgent=False)
    respond = getattr(server, method)

    async def of_a_gateway(*given, **named):
        await respond(*given, **named)
        return b"{}"

    if method != "create":
        await store.flush()
        server.objects["shop"]["metadata"]["resourceVersion"] = "of a user"
    if method == "replace":
        server.objects["shop"]["metadata"]["resourceVersion"] = "1"
    setattr(server, method, of_a_gateway)
    store.put("shop", "u1", history(2), is_urgent=False)
    await store.flush()
    setattr(server, method, respond)
    store.put("shop", "u1", history(3), is_urgent=False)
    await store.flush()
    assert server.objects["shop"]["histories"]["u1"]["replicas"] == 3
