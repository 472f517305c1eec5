"""Credentials that Prometheus refuses although they have not expired, because they were revoked."""

import pytest

from adapter.fetch.credentials import ClusterCredentials
from adapter.fetch.prometheus import PrometheusClient
from adapter.model import Backend, Plan
from adapter.ports import QueryFailed
from tests.deadline import DEADLINE_SECONDS
from tests.unit.adapter.fetch.canned import CannedServer, raw, vector
from wire.kube.cluster_access import ClusterAccess
from wire.kube.connection import Connection
from wire.prometheus.access import FileCredentials

PLAN = Plan("up")


class Guarded(CannedServer):
    """It accepts one token."""

    accepted = "token-0"

    def response(self, request):
        if request.headers["Authorization"] == f"Bearer {self.accepted}":
            return vector(({}, "1"))
        return raw(b"", "401 Unauthorized")


class Plugin:
    """A kubeconfig with a credential plugin, which prints another token whenever it runs."""

    runs = 0

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        self.runs += refused
        return ClusterAccess(
            server="https://api.example", authorization=f"Bearer token-{self.runs}"
        )


@pytest.fixture
async def guarded():
    async with Guarded().listening() as listening:
        yield listening


@pytest.fixture
async def client(guarded):
    plugin = Plugin()
    identity = Connection(plugin, await plugin.read(), user_agent="a/1")
    backend = Backend(url=guarded.url, timeout_seconds=DEADLINE_SECONDS)
    made = PrometheusClient(backend, ClusterCredentials(identity, FileCredentials(backend)))
    yield made
    await made.close()


def tokens(guarded):
    """Of all requests."""
    return [each.headers["Authorization"].removeprefix("Bearer ") for each in guarded.requested]


async def test_a_revoked_token_is_renewed_and_the_query_sent_again(client, guarded):
    await client.evaluate(PLAN)
    guarded.accepted = "token-1"
    assert len((await client.evaluate(PLAN)).samples) == 1
    assert tokens(guarded) == ["token-0", "token-0", "token-1"]


async def test_a_renewed_token_that_is_refused_too_is_an_error_that_names_the_credentials(
    client, guarded
):
    guarded.accepted = "another"
    with pytest.raises(QueryFailed, match="HTTP 401 Unauthorized: check the credentials"):
        await client.evaluate(PLAN)
    assert tokens(guarded) == ["token-0", "token-1"]


async def test_after_a_refusal_the_plugin_does_not_run_again_for_each_query(client, guarded):
    guarded.accepted = "another"
    for _ in range(3):
        with pytest.raises(QueryFailed):
            await client.evaluate(PLAN)
    assert tokens(guarded) == ["token-0", "token-1", "token-1", "token-1"]


async def test_while_its_file_is_empty_the_token_before_is_sent(guarded, tmp_path):
    """As while it is written."""
    file = tmp_path / "token"
    backend = Backend(url=guarded.url, token_file=file)
    client = PrometheusClient(backend, FileCredentials(backend))
    for content in ("token-0", "", "\n", "token-1"):
        file.write_text(content)
        guarded.accepted = content.strip() or "token-0"
        await client.evaluate(PLAN)
    await client.close()
    assert tokens(guarded) == ["token-0", "token-0", "token-0", "token-1"]


async def test_a_token_of_a_file_is_sent_once(guarded, tmp_path):
    (tmp_path / "token").write_text("revoked")
    backend = Backend(url=guarded.url, token_file=tmp_path / "token")
    client = PrometheusClient(backend, FileCredentials(backend))
    with pytest.raises(QueryFailed, match="HTTP 401"):
        await client.evaluate(PLAN)
    await client.close()
    assert tokens(guarded) == ["revoked"]
