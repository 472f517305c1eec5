"""The scaler chart: two pods never scale at the same time."""

import pytest

from scaler.cluster.shards.assignment import SHARDS
from scaler.cluster.shards.shard_leases import MEMBERS_MAX, member_name, shard_name
from tests.unit.charts.conftest import granted, permissions

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
"""The defaults of Kubernetes. Server-side apply removes only what was applied, so they must be, for a change to Recreate."""


def test_two_pods_elect_a_leader(scaler):
    rendered = scaler.render({"replicas": 2})
    assert "--leader-elect" in rendered.arguments
    assert "--leader-elect-resource-name=r-loadline-scaler" in rendered.arguments
    role = rendered.one("Role", ":leader-election")
    assert role["metadata"]["namespace"] == "metrics"
    assert permissions(role) == granted("coordination.k8s.io", "leases", "create get update")
    named = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]
    assert [rule["resourceNames"] for rule in named] == [["r-loadline-scaler"]]
    assert rendered.one("Deployment")["spec"]["strategy"] == ROLLING


def test_more_replicas_change_neither_the_pods_that_run_nor_what_they_may_do(scaler):
    """A pod that is not elected would scale beside the leader of the new ones."""
    one, two = scaler.render(), scaler.render({"replicas": 2})
    assert (
        one.one("Deployment")["spec"]["template"],
        one.one("Role", ":leader-election"),
        one.one("RoleBinding", ":leader-election"),
    ) == (
        two.one("Deployment")["spec"]["template"],
        two.one("Role", ":leader-election"),
        two.one("RoleBinding", ":leader-election"),
    )


@pytest.mark.parametrize("replicas", [0, 1, None])
def test_a_single_pod_stops_before_its_successor_starts(scaler, replicas):
    """In a release of before it was elected, it would scale beside its successor."""
    rendered = scaler.render({"replicas": replicas})
    assert "--leader-elect" in rendered.arguments
    assert rendered.one("Deployment")["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("given", "applied"),
    [
        pytest.param({"type": "RollingUpdate"}, ROLLING, id="type"),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
            id="zero",
        ),
        pytest.param({"type": "Recreate"}, {"type": "Recreate"}, id="stops first"),
    ],
)
def test_a_given_strategy_replaces_the_default(scaler, given, applied):
    rendered = scaler.render({"replicas": 2, "strategy": given})
    assert rendered.one("Deployment")["spec"]["strategy"] == applied


def test_a_single_pod_without_a_lease_stops_before_its_successor_starts(scaler):
    rendered = scaler.render({"leaderElection": {"enabled": False}})
    assert "--leader-elect" not in rendered.arguments
    assert "coordination.k8s.io" not in {
        group for rule in rendered.rules() for group in rule.get("apiGroups", ())
    }
    assert rendered.one("Deployment")["spec"]["strategy"] == {"type": "Recreate"}


def test_two_pods_without_leader_election_are_rejected(scaler, refused):
    with pytest.raises(refused, match="every pod would scale every target"):
        scaler.render({"replicas": 2, "leaderElection": {"enabled": False}})


def test_pods_that_share_the_namespaces_use_only_their_own_leases(scaler):
    rendered = scaler.render({"replicas": 3, "sharding": {"enabled": True}})
    assert "--sharding" in rendered.arguments
    assert "--leader-elect" not in rendered.arguments
    role = rendered.one("Role", ":leader-election")
    assert permissions(role) == granted(
        "coordination.k8s.io", "leases", "create get list patch update"
    )
    named = [name for rule in role["rules"] for name in rule.get("resourceNames", ())]
    name = "r-loadline-scaler"
    members = {member_name(name, number) for number in range(MEMBERS_MAX)}
    shards = {shard_name(name, shard) for shard in range(SHARDS)}
    assert set(named) == {name} | members | shards
    assert rendered.one("Deployment")["spec"]["strategy"] == ROLLING


def test_a_single_pod_with_sharding_can_be_joined_by_others(scaler):
    rendered = scaler.render({"sharding": {"enabled": True}})
    assert "--sharding" in rendered.arguments
    assert rendered.one("Deployment")["spec"]["strategy"] == ROLLING


def test_sharding_without_leases_is_rejected(scaler, refused):
    with pytest.raises(refused, match="share the namespaces by Leases"):
        scaler.render({"sharding": {"enabled": True}, "leaderElection": {"enabled": False}})
