"""The scaler chart with `sharding.enabled`: its permissions are enough, and an upgrade to it never has two scalers at once."""

import contextlib

from scaler.cluster.shards.assignment import SHARDS
from testbed.chart_programs import start_chart_program
from testbed.cluster import Cluster
from testbed.helm import Helm
from testbed.waiting import until

QUICK = ("lease-duration=3s", "renew-deadline=2s", "retry-period=500ms")
VALUES = {
    "replicas": 2,
    "extraArguments": [f"--leader-elect-{each}" for each in QUICK],
}


def holders(cluster: Cluster, namespace: str) -> dict[str, str]:
    """The holder of each Lease of the release."""
    listed = cluster.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
    return {
        each["metadata"]["name"].removeprefix("s-loadline-scaler"): each["spec"]["holderIdentity"]
        for each in listed["items"]
    }


def owners(cluster: Cluster, namespace: str) -> set[str]:
    """The owners of the shards, which all have one."""
    found = [name for name in holders(cluster, namespace).items() if "-shard-" in name[0]]
    assert len(found) == SHARDS
    return {holder for _, holder in found}


def test_a_release_is_changed_to_sharding_by_an_upgrade(cluster, namespace, tmp_path):
    helm = Helm(cluster, namespace)
    helm.install("scaler", release="s", values=VALUES)
    place = {"release": "s", "namespace": namespace}
    with contextlib.ExitStack() as stack:
        leader = stack.enter_context(
            start_chart_program(cluster, "scaler", directory=tmp_path / "leader", **place)
        )
        until(lambda: holders(cluster, namespace).get(""), what="a leader")
        helm.upgrade("scaler", release="s", values={**VALUES, "sharding": {"enabled": True}})
        sharing = [
            stack.enter_context(
                start_chart_program(cluster, "scaler", directory=tmp_path / name, **place)
            )
            for name in "ab"
        ]
        assert list(holders(cluster, namespace)) == [""], "the leader still scales"
        assert leader.stop() == 0

        def shared() -> bool:
            assert holders(cluster, namespace).get("") == "shards"
            members = {
                holder for name, holder in holders(cluster, namespace).items() if "-member-" in name
            }
            assert owners(cluster, namespace) == members
            return len(members) == 2

        until(shared, what="two owners of all shards", deadline_seconds=60)
        assert sharing[0].stop() == 0
        until(lambda: len(owners(cluster, namespace)) == 1, what="one owner", deadline_seconds=30)
        for each in sharing:
            assert "forbidden" not in each.process.log().lower(), each.process.log_tail()
    helm.uninstall("s")
