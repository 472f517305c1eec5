"""Three scalers that share the namespaces, on a real control plane: every scale is written once.

Each scaler has a user of its own, so kube-apiserver's audit log shows who has written.
"""

import itertools
import time
from collections import Counter

import pytest

from scaler.cluster.shards.assignment import SHARDS
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess
from testbed.waiting import until
from tests.e2e.conftest import StartScaler
from tests.e2e.scaler_objects import (
    HPA,
    LA,
    Json,
    Workspace,
    autoscaler,
    plain_queue,
    workload,
)

NAMESPACES = 12
# A replica that waits for a processor for so long loses its shards.
LEASE_SECONDS, RENEW_SECONDS = 10, 8
PERIOD_SECONDS, RETRY_SECONDS = 1, 1
# A renewal that was read late, the attempts to read and to claim, and a slow machine.
TAKE_OVER_SECONDS = LEASE_SECONDS + 3 * 1.2 * RETRY_SECONDS + PERIOD_SECONDS + 3
FLAGS = (
    "--sharding",
    f"--sync-period={PERIOD_SECONDS}s",
    f"--leader-elect-lease-duration={LEASE_SECONDS}s",
    f"--leader-elect-renew-deadline={RENEW_SECONDS}s",
    f"--leader-elect-retry-period={RETRY_SECONDS}s",
    "--downscale-stabilization=0s",
)


class Scalers:
    """Replicas with one set of Leases, and the namespaces that they share."""

    def __init__(
        self, cluster: Cluster, start: StartScaler, lease_namespace: str, kind: str
    ) -> None:
        self._cluster = cluster
        self._start = start
        self._lease_namespace = lease_namespace
        self._users = (f"{lease_namespace}-{number}" for number in itertools.count())
        self._kind = kind
        self.namespaces = [f"{lease_namespace}-{number}" for number in range(NAMESPACES)]
        self.running: dict[str, LoadlineProcess] = {}

    def start(self) -> str:
        """One more replica; returns its user."""
        user = next(self._users)
        self.running[user] = self._start(
            *FLAGS,
            f"--watch={self._kind}",
            f"--leader-elect-resource-namespace={self._lease_namespace}",
            *(f"--namespace={each}" for each in self.namespaces),
            kubeconfig=self._cluster.kubeconfig_for(user, ["system:masters"]),
        )
        return user

    def owners(self) -> dict[int, str]:
        """The holder of each shard's Lease."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._lease_namespace}/leases"
        items: list[Json] = self._cluster.get(path)["items"]
        return {
            int(each["metadata"]["name"][-2:]): each["spec"].get("holderIdentity") or ""
            for each in items
            if "-shard-" in each["metadata"]["name"]
        }

    def has_members(self, count: int) -> dict[str, str]:
        """Wait until so many replicas own all shards; returns the owner of each."""
        owners: dict[str, str] = {}

        def shared() -> bool:
            owners.update(self.owners())
            assert len(owners) == SHARDS
            assert "" not in owners.values()
            assert len(set(owners.values())) == count
            return True

        until(shared, what=f"{count} owners", deadline_seconds=60)
        return owners

    def reach(self, replicas: int, *, deadline_seconds: float = 60.0) -> None:
        """Wait until the targets of all namespaces have so many replicas."""

        def reached() -> bool:
            for each in self.namespaces:
                assert Workspace(self._cluster, each).replicas() == replicas
            return True

        until(reached, what=f"{replicas} replicas", deadline_seconds=deadline_seconds)


@pytest.fixture
def scalers(cluster, namespace, start_scaler, metrics_api, request) -> Scalers:
    api_version = request.param
    kind = "loadautoscalers" if api_version == LA else "horizontalpodautoscalers"
    shared = Scalers(cluster, start_scaler, namespace, kind)
    for each in shared.namespaces:
        cluster.create_namespace(each)
        metrics_api.values[f"{each}/queue"] = "20"
        cluster.apply(
            workload("Deployment", each, 1),
            autoscaler(each, plain_queue("10"), maxReplicas=9, api_version=api_version),
        )
    return shared


@pytest.mark.parametrize("scalers", [LA, HPA], indirect=True, ids=["LoadAutoscaler", "HPA"])
def test_every_scale_is_written_once_whichever_replica_owns_its_shard(
    scalers, audit_log, metrics_api
):
    def scale(replicas: int) -> None:
        for each in scalers.namespaces:
            metrics_api.values[f"{each}/queue"] = str(10 * replicas)

    first, *_ = [scalers.start() for _ in range(3)]
    scalers.has_members(3)
    scalers.reach(2)
    scale(4)
    scalers.reach(4)

    before = scalers.has_members(3)
    scale(6)
    scalers.running.pop(first).kill()
    killed_at_unix_seconds = time.time()
    scalers.reach(6, deadline_seconds=TAKE_OVER_SECONDS)
    after = scalers.has_members(2)
    gone = set(before.values()) - set(after.values())
    assert len(gone) == 1, "only the shards of the killed replica move"
    assert all(after[each] == owner for each, owner in before.items() if owner not in gone)

    # As in a rolling update: a new replica joins before an old one is stopped.
    scalers.start()
    scalers.has_members(3)
    scale(3)
    stopped = next(iter(scalers.running))
    assert scalers.running.pop(stopped).stop() == 0
    scalers.reach(3)
    scalers.has_members(2)
    scale(5)
    scalers.reach(5)

    writers: Counter[str] = Counter()
    for each in scalers.namespaces:
        writes = audit_log.has_scales(each, [2, 4, 6, 3, 5])
        writers.update(write.user for write in writes)
        late = [write for write in writes if write.at_unix_seconds > killed_at_unix_seconds + 1]
        assert first not in {write.user for write in late}
    assert len(writers) == 4
