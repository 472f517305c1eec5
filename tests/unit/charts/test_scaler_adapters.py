"""The scaler chart: direct connections to adapters, and what their tokens can be used for."""

import pytest

from tests.unit.charts.test_scaler_chart import granted, permissions

READER = "r-loadline-scaler-metrics-reader"


def test_metrics_are_read_directly_and_streamed_without_any_value(scaler):
    arguments = scaler.render().arguments
    assert {
        "--adapter-connection=auto",
        f"--adapter-token-service-account=metrics/{READER}",
        "--stream-metrics=auto",
        "--reconcile-on-change=auto",
    } < set(arguments)
    assert not [each for each in arguments if each.startswith("--adapter-service=")]


def test_the_scaler_may_find_adapters_and_request_tokens_of_one_service_account(scaler):
    rendered = scaler.render()
    assert permissions(rendered.one("ClusterRole", "loadline-scaler:adapters")) == granted(
        "apiregistration.k8s.io", "apiservices", "list watch"
    )
    (rule,) = rendered.one("Role", "loadline-scaler:metrics-reader-tokens")["rules"]
    assert rule == {
        "apiGroups": [""],
        "resources": ["serviceaccounts/token"],
        "resourceNames": [READER],
        "verbs": ["create"],
    }
    assert rendered.one("ServiceAccount", READER)["automountServiceAccountToken"] is False


@pytest.mark.parametrize("namespaces", [[], ["shop", "billing"]], ids=["all", "two"])
def test_the_tokens_for_adapters_can_read_metrics_and_nothing_else(scaler, namespaces):
    rendered = scaler.render({"watchNamespaces": namespaces})
    kind = "Role" if namespaces else "ClusterRole"
    roles = [
        each["roleRef"]["name"]
        for each in rendered.manifests
        if each["kind"] in ("RoleBinding", "ClusterRoleBinding")
        and READER in [subject["name"] for subject in each["subjects"]]
    ]
    assert set(roles) == {
        "r-loadline-scaler:metrics-reader",
        "r-loadline-scaler:metrics-reader-paths",
    }
    granting = [
        each
        for each in rendered.manifests
        if (each["kind"], each["metadata"]["name"]) == (kind, "r-loadline-scaler:metrics-reader")
    ]
    assert [each["metadata"].get("namespace") for each in granting] == (namespaces or [None])
    for role in granting:
        assert permissions(role) == (
            granted("metrics.k8s.io", "pods", "list")
            | granted("custom.metrics.k8s.io", "*", "get")
            | granted("external.metrics.k8s.io", "*", "list")
        )
    paths = rendered.one("ClusterRole", "loadline-scaler:metrics-reader-paths")["rules"]
    assert paths == [{"nonResourceURLs": ["/watch/metrics"], "verbs": ["get"]}]


def test_the_adapter_accepts_tokens_that_are_for_its_service_alone(adapter):
    assert "--api-audiences=adapter-loadline-adapter.metrics.svc" in (
        adapter.render(release="adapter").arguments
    )


def test_one_service_alone_may_be_read_directly(scaler):
    value = "{{ .Release.Namespace }}/adapter-loadline-adapter"
    rendered = scaler.render({"adapter": {"service": value}})
    assert "--adapter-service=metrics/adapter-loadline-adapter" in rendered.arguments


def test_without_direct_connections_there_are_no_tokens_and_no_permissions_for_them(scaler):
    rendered = scaler.render({"adapter": {"connection": "never"}})
    assert "--adapter-connection=never" in rendered.arguments
    assert READER not in rendered.text
    assert "apiservices" not in rendered.text


def test_an_existing_service_account_reads_the_metrics(scaler):
    rendered = scaler.render({"adapter": {"serviceAccountName": "reader"}})
    assert "--adapter-token-service-account=metrics/reader" in rendered.arguments
    assert READER not in rendered.text


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        ({"connection": "never", "stream": True}, "contradicts"),
        ({"connection": "never", "reconcileOnChange": "always"}, "contradicts"),
        ({"connection": "never", "service": "metrics/adapter"}, "contradicts"),
        ({"service": "adapter"}, "service"),
        ({"stream": "sometimes"}, "stream"),
    ],
)
def test_values_of_the_adapter_that_do_not_fit_are_rejected(scaler, refused, values, fix):
    with pytest.raises(refused, match=fix):
        scaler.render({"adapter": values})


def test_the_values_of_earlier_releases_have_the_same_meaning(scaler):
    values = {"service": "metrics/adapter", "stream": True, "reconcileOnChange": False}
    arguments = scaler.render({"adapter": values}).arguments
    assert {"--stream-metrics=true", "--reconcile-on-change=false"} < set(arguments)


def test_recorded_history_for_forecasts_has_its_own_permission(scaler, refused):
    values = {"prometheus": {"url": "http://prometheus.{{ .Release.Namespace }}.svc:9090"}}
    rendered = scaler.render(values)
    assert "--prometheus-url=http://prometheus.metrics.svc:9090" in rendered.arguments
    rules = rendered.one("ClusterRole", "loadline-scaler:metrics-reader-paths")["rules"]
    assert {"nonResourceURLs": ["/debug/explain"], "verbs": ["get"]} in rules
    with pytest.raises(refused, match="requires a direct connection"):
        scaler.render({**values, "adapter": {"connection": "never"}})
