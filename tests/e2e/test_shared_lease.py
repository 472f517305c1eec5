"""The Lease that replicas hold together, on a real kube-apiserver: what its JSON patch renews, and what it refuses."""

import asyncio
import time
from collections.abc import AsyncIterator

import msgspec
import pytest

from scaler.cluster.leader_election import LeaderElection
from scaler.cluster.lease import LeaseTimes, decoded_lease, renewal_patch
from testbed.cluster import Cluster
from wire.api.status import StatusError
from wire.kube.client import KubeClient
from wire.kube.connection import Connection, connect
from wire.kube.requests import JSON_PATCH

TIMES = LeaseTimes(retry_seconds=0.2)
RENEWALS = 30


class Recorded(KubeClient):
    """The real client; `patches` has the codes of the responses to its patches."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.patches: list[int] = []
        self.enough = asyncio.Event()

    async def patch(self, path: str, body: bytes, *, content_type: str = JSON_PATCH) -> bytes:
        try:
            found = await super().patch(path, body, content_type=content_type)
        except StatusError as error:
            self.patches.append(error.code)
            raise
        self.patches.append(200)
        if len(self.patches) >= RENEWALS:
            self.enough.set()
        return found


@pytest.fixture
async def kube(cluster: Cluster) -> AsyncIterator[Recorded]:
    client = Recorded(await connect(cluster.kubeconfig, user_agent="test"))
    yield client
    await client.close()


async def test_replicas_renew_it_without_conflicts(kube: Recorded, namespace: str) -> None:
    def replica() -> LeaderElection:
        return LeaderElection(
            kube, namespace=namespace, name="scaler", identity="shards", times=TIMES, is_shared=True
        )

    async def work() -> None:
        await asyncio.Event().wait()

    replicas = [replica() for _ in range(3)]
    tasks = [asyncio.create_task(each.run(work)) for each in replicas]
    await asyncio.wait_for(kube.enough.wait(), 60)
    assert kube.patches == [200] * len(kube.patches)
    assert all(each.leads_without_gap for each in replicas)
    for each in tasks:
        each.cancel()
    await asyncio.wait(tasks)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"holder_identity": "another"}, id="another holder"),
        pytest.param({"lease_transitions": 7}, id="another term"),
        pytest.param(None, id="another object"),
    ],
)
async def test_a_patch_that_tests_for_something_else_changes_nothing(
    kube: Recorded, namespace: str, change: dict[str, object] | None
) -> None:
    holder = LeaderElection(kube, namespace=namespace, name="scaler", identity="shards")
    assert await holder.acquire()
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/scaler"
    lease = before = decoded_lease(await kube.get(path))
    if change is None:
        known = msgspec.structs.replace(lease.metadata, uid="another")
        lease = msgspec.structs.replace(lease, metadata=known)
    else:
        spec = msgspec.structs.replace(lease.spec, **change)
        lease = msgspec.structs.replace(lease, spec=spec)
    with pytest.raises(StatusError) as refused:
        await kube.patch(path, renewal_patch(lease, time.time()), content_type=JSON_PATCH)
    assert refused.value.code == 422
    assert decoded_lease(await kube.get(path)) == before
