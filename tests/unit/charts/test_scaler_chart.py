"""The scaler chart: flags and permissions."""

import pytest

from tests.unit.charts.conftest import granted, permissions
from wire.process import go_yaml

BOUND = {
    "r-loadline-scaler",
    "r-loadline-scaler:adapters",
    "r-loadline-scaler:metrics-reader",
    "r-loadline-scaler:metrics-reader-paths",
    "r-loadline-scaler:metrics-reader-tokens",
    "r-loadline-scaler:why",
    "r-loadline-scaler:certificate",
    "r-loadline-scaler:leader-election",
    "system:auth-delegator",
    "extension-apiserver-authentication-reader",
}


def test_the_scaler_has_exactly_the_permissions_that_it_uses(scaler):
    assert permissions(scaler.render().one("ClusterRole", "loadline-scaler")) == (
        granted("loadline.io", "loadautoscalers", "get list watch")
        | granted("loadline.io", "loadautoscalers/status", "update")
        | granted("loadline.io", "scalingcalendars clusterscalingcalendars", "list watch")
        | granted("autoscaling", "horizontalpodautoscalers", "list watch")
        | granted("", "pods", "list watch")
        | granted("apps", "deployments/scale replicasets/scale statefulsets/scale", "get update")
        | granted("apps", "deployments replicasets statefulsets", "list watch")
        | granted("metrics.k8s.io", "pods", "list")
        | granted("custom.metrics.k8s.io", "*", "get")
        | granted("external.metrics.k8s.io", "*", "list")
        | granted("", "events", "create patch")
    )


def test_patching_pods_is_allowed_only_on_request(scaler):
    allowed = scaler.render({"rbac": {"podDeletionCost": True}})
    assert ("", "pods", "patch") in permissions(allowed.one("ClusterRole", "loadline-scaler"))
    for_hpas = scaler.render(
        {"rbac": {"podDeletionCost": True}, "watch": "horizontalpodautoscalers"}
    )
    assert ("", "pods", "patch") not in permissions(for_hpas.one("ClusterRole", "loadline-scaler"))


def test_the_scaler_is_bound_to_its_role_and_to_delegated_authentication(scaler):
    rendered = scaler.render()
    bindings = rendered.of("ClusterRoleBinding") + rendered.of("RoleBinding")
    assert {binding["roleRef"]["name"] for binding in bindings} == BOUND


CERTIFICATES = "r-loadline-scaler-serving-certificates"


def test_the_pod_may_read_decisions_for_why_and_no_other_endpoint(scaler):
    named = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [CERTIFICATES]}
    assert scaler.render().one("ClusterRole", ":why")["rules"] == [
        {"nonResourceURLs": ["/debug/decisions/*"], "verbs": ["get"]},
        {**named, "verbs": ["get"]},
    ]


def test_the_pods_publish_their_certificates_in_one_config_map_that_upgrades_leave_unchanged(
    scaler,
):
    rendered = scaler.render()
    config_map = rendered.one("ConfigMap", CERTIFICATES)
    assert "data" not in config_map
    assert f"--certificate-config-map=metrics/{CERTIFICATES}" in rendered.arguments
    (rule,) = rendered.one("Role", ":certificate")["rules"]
    assert (rule["resourceNames"], rule["verbs"]) == ([CERTIFICATES], ["get", "patch"])


@pytest.mark.parametrize("values", [{"securePort": 0}, {"rbac": {"authDelegator": False}}])
def test_without_decisions_to_serve_no_certificate_is_published(scaler, values):
    text = scaler.render(values).text
    assert "serving-certificates" not in text
    assert ":certificate" not in text


def test_in_place_of_the_built_in_controller_the_scaler_updates_only_hpas(scaler):
    rendered = scaler.render({"watch": "horizontalpodautoscalers"})
    allowed = permissions(rendered.one("ClusterRole", "loadline-scaler"))
    assert ("autoscaling", "horizontalpodautoscalers/status", "update") in allowed
    assert not any(group == "loadline.io" for group, _, _ in allowed)
    assert "--watch=horizontalpodautoscalers" in rendered.arguments


def test_in_place_of_the_built_in_controller_the_scaler_stores_its_memories_in_its_own_namespace(
    scaler,
):
    rendered = scaler.render({"watch": "horizontalpodautoscalers"})
    role = rendered.one("Role", ":memory")
    assert permissions(role) == granted(
        "loadline.io", "scalingmemories", "get list create update delete"
    )
    assert role["metadata"]["namespace"] == rendered.one("Deployment")["metadata"]["namespace"]
    assert all(
        not each["metadata"]["name"].endswith(":memory") for each in scaler.render().of("Role")
    )


def test_custom_resources_can_be_scaled_if_their_group_is_listed(scaler):
    targets = {"argoproj.io": ["rollouts"], "core": ["replicationcontrollers"]}
    rendered = scaler.render({"rbac": {"scaleTargets": targets}})
    allowed = permissions(rendered.one("ClusterRole", "loadline-scaler"))
    assert granted("argoproj.io", "rollouts/scale", "get update") <= allowed
    assert granted("argoproj.io", "rollouts", "list watch") <= allowed
    assert granted("", "replicationcontrollers/scale", "get update") <= allowed
    assert granted("apps", "deployments/scale", "get update") <= allowed


def test_where_custom_resources_have_their_replicas_may_be_read_by_name_only(scaler):
    targets = {"argoproj.io": ["rollouts"], "core": ["replicationcontrollers"]}
    role = scaler.render({"rbac": {"scaleTargets": targets}}).one("ClusterRole", "loadline-scaler")
    definitions = [
        (each["resourceNames"], each["verbs"])
        for each in role["rules"]
        if each.get("resources") == ["customresourcedefinitions"]
    ]
    assert definitions == [(["rollouts.argoproj.io"], ["get"])]
    inside = scaler.render({"rbac": {"scaleTargets": targets}, "watchNamespaces": ["shop"]})
    assert "customresourcedefinitions" not in str(inside.one("Role", "loadline-scaler"))


def test_what_controls_pods_may_be_listed_and_watched_and_nothing_else(scaler):
    owners = {"apps": None, "example.com": ["units"]}
    targets = {"apps": ["deployments"]}
    rendered = scaler.render({"rbac": {"podOwners": owners, "scaleTargets": targets}})
    allowed = permissions(rendered.one("ClusterRole", "loadline-scaler"))
    assert granted("example.com", "units", "list watch") <= allowed
    assert not granted("apps", "replicasets", "list") <= allowed
    assert not granted("example.com", "units", "get") <= allowed
    by_default = scaler.render({"rbac": {"scaleTargets": targets}})
    found = permissions(by_default.one("ClusterRole", "loadline-scaler"))
    assert granted("apps", "replicasets", "list watch") <= found
    hpas = scaler.render({"rbac": {"scaleTargets": targets}, "watch": "horizontalpodautoscalers"})
    assert not granted("apps", "replicasets", "list") <= permissions(
        hpas.one("ClusterRole", "loadline-scaler")
    )


def test_a_wildcard_owner_is_rejected(scaler, refused):
    with pytest.raises(refused, match="podOwners"):
        scaler.render({"rbac": {"podOwners": {"apps": ["*"]}}})


def test_a_wildcard_scale_target_is_rejected(scaler, refused):
    with pytest.raises(refused, match="scaleTargets"):
        scaler.render({"rbac": {"scaleTargets": {"apps": ["*"]}}})


def test_with_watch_namespaces_roles_replace_the_cluster_role(scaler):
    rbac = {"authDelegator": False, "aggregate": False}
    rendered = scaler.render({"watchNamespaces": ["shop", "bank"], "rbac": rbac})
    assert not rendered.of("ClusterRole") + rendered.of("ClusterRoleBinding")
    everywhere = permissions(scaler.render().one("ClusterRole", "loadline-scaler"))
    roles = rendered.of("Role")
    assert [role["metadata"]["namespace"] for role in roles] == ["shop", "bank", "metrics"]
    inside = everywhere - granted("loadline.io", "clusterscalingcalendars", "list watch")
    of_lease = granted("coordination.k8s.io", "leases", "create get update")
    assert [permissions(role) for role in roles] == [inside, inside, of_lease]
    bindings = rendered.of("RoleBinding")
    assert [b["metadata"]["namespace"] for b in bindings] == ["shop", "bank", "metrics"]
    assert "--namespace=shop,bank" in rendered.arguments
    assert "--adapter-connection=never" in rendered.arguments, "APIServices need a ClusterRole"


def test_without_delegated_authentication_the_cas_are_not_looked_up(scaler):
    """Otherwise the scaler would never become ready."""
    rendered = scaler.render({"rbac": {"authDelegator": False}})
    assert "--authentication-skip-lookup" in rendered.arguments
    assert "--authentication-skip-lookup" not in scaler.render().arguments


def test_without_a_port_there_are_no_probes_and_no_delegated_authentication(scaler):
    rendered = scaler.render({"securePort": 0})
    assert not {"livenessProbe", "readinessProbe", "ports"} & set(rendered.container)
    assert not [b for b in rendered.of("ClusterRoleBinding") if "auth" in b["metadata"]["name"]]


def test_without_a_port_a_network_policy_denies_all_ingress(scaler):
    policy = scaler.render({"securePort": 0, "networkPolicy": {"enabled": True}})
    assert policy.one("NetworkPolicy")["spec"]["ingress"] == []


def test_without_a_port_a_service_monitor_is_rejected(scaler, refused):
    with pytest.raises(refused, match="enabled requires securePort"):
        scaler.render({"securePort": 0, "serviceMonitor": {"enabled": True}})


def test_a_service_monitor_without_authentication_is_rejected(scaler, refused):
    with pytest.raises(refused, match=r"enabled requires rbac\.authDelegator"):
        scaler.render({"rbac": {"authDelegator": False}, "serviceMonitor": {"enabled": True}})


def test_the_edit_role_may_edit_autoscalers_but_not_their_status(scaler):
    rendered = scaler.render()
    edit = rendered.one("ClusterRole", ":loadautoscalers-edit")
    view = rendered.one("ClusterRole", ":loadautoscalers-view")
    assert edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    writes = "create delete deletecollection patch update"
    assert permissions(edit) == granted("loadline.io", "loadautoscalers scalingcalendars", writes)


@pytest.mark.parametrize(
    ("values", "argument"),
    [
        pytest.param({"syncPeriod": "1m30s"}, "--sync-period=1m30s", id="sync period"),
        pytest.param({"tolerance": 0.05}, "--tolerance=0.05", id="tolerance"),
        pytest.param({"downscaleStabilization": "0s"}, "--downscale-stabilization=0s", id="zero"),
        pytest.param({"concurrentSyncs": 20}, "--concurrent-syncs=20", id="concurrency"),
    ],
)
def test_settings_become_flags(scaler, values, argument):
    assert argument in scaler.render(values).arguments


def test_hpas_are_scaled_as_by_the_version_of_the_server_unless_a_value_sets_one(scaler):
    hpas = {"watch": "horizontalpodautoscalers"}
    given = scaler.render({**hpas, "kubernetesVersion": "1.36"}).arguments
    assert "--kubernetes-version=1.36" in given
    assert not [each for each in scaler.render(hpas).arguments if "kubernetes-version" in each]


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        ({"kubernetesVersion": "1.36"}, "requires watch: horizontalpodautoscalers"),
        ({"watch": "horizontalpodautoscalers", "kubernetesVersion": "latest"}, "kubernetesVersion"),
    ],
)
def test_a_version_that_the_scaler_would_refuse_is_rejected(scaler, refused, values, fix):
    with pytest.raises(refused, match=fix):
        scaler.render(values)


def test_an_invalid_duration_is_rejected(scaler, refused):
    with pytest.raises(refused, match="syncPeriod"):
        scaler.render({"syncPeriod": "15 seconds"})


def crds(rendered):
    return {
        crd["metadata"]["name"].partition(".")[0] for crd in rendered.of("CustomResourceDefinition")
    }


@pytest.mark.parametrize(
    ("values", "plurals"),
    [
        pytest.param(
            {},
            {"loadautoscalers", "scalingcalendars", "clusterscalingcalendars"},
            id="LoadAutoscalers",
        ),
        pytest.param({"watch": "horizontalpodautoscalers"}, {"scalingmemories"}, id="HPAs"),
        pytest.param({"crds": {"install": False}}, set(), id="managed by the user"),
    ],
)
def test_the_crds_that_the_mode_requires_are_rendered(scaler, values, plurals):
    assert crds(scaler.render(values)) == plurals


def test_artifact_hub_lists_every_crd(scaler):
    about = go_yaml.load((scaler.path / "Chart.yaml").read_text())
    listed = go_yaml.load(about["annotations"]["artifacthub.io/crds"])
    files = (scaler.path / "files" / "crds").glob("*.yaml")
    written = [crd for f in files for crd in go_yaml.load_all(f.read_text())]
    assert {each["name"]: (each["kind"], each["version"]) for each in listed} == {
        crd["metadata"]["name"]: (crd["spec"]["names"]["kind"], crd["spec"]["versions"][-1]["name"])
        for crd in written
    }


def test_uninstalling_the_release_keeps_the_crds(scaler):
    for crd in scaler.render().of("CustomResourceDefinition"):
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_rendered_crds_are_those_of_the_files(scaler):
    files = (scaler.path / "files" / "crds").glob("*.yaml")
    written = {
        crd["metadata"]["name"]: crd["spec"]
        for f in files
        for crd in go_yaml.load_all(f.read_text())
    }
    for values in ({}, {"watch": "horizontalpodautoscalers"}):
        for crd in scaler.render(values).of("CustomResourceDefinition"):
            assert crd["spec"] == written.pop(crd["metadata"]["name"])
    assert not written
