"""What can be explained: a path, or an autoscaler by its name."""

import pytest

from adapter.commands.explain import main as explain
from adapter.diagnosis.autoscaler_requests import Autoscaler, metric_paths, target_of


@pytest.mark.parametrize(
    ("text", "target"),
    [
        pytest.param("shop/web", Autoscaler("shop", "web"), id="whichever autoscaler there is"),
        pytest.param("hpa/shop/web", Autoscaler("shop", "web", ("hpa",)), id="an HPA"),
        pytest.param("la/shop/web", Autoscaler("shop", "web", ("la",)), id="a LoadAutoscaler"),
        pytest.param("/apis/a/b?c=d", "/apis/a/b?c=d", id="a path"),
    ],
)
def test_a_target_is_an_autoscaler_or_a_path(text, target):
    assert target_of(text) == target


@pytest.mark.parametrize(
    "text", ["", "web", "shop/", "/".join("abcd"), "pods/shop/web", "hpa//web"]
)
def test_anything_else_is_refused_with_the_forms_there_are(text):
    with pytest.raises(ValueError, match="NAMESPACE/NAME"):
        target_of(text)


def test_a_server_elsewhere_needs_a_ca(tmp_path, capsys):
    (tmp_path / "config").write_text(
        "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: u, user: {token: t}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}"
    )
    code = explain(
        [
            "/apis/a/b/c",
            "--server=https://adapter.example:6443",
            f"--kubeconfig={tmp_path / 'config'}",
        ]
    )
    assert code == 2
    assert "--ca-file" in capsys.readouterr().err


class WithoutMetrics:
    """The API server for an autoscaler that has no metrics, and its target. Also the mapper of its kind."""

    async def get(self, path, params=None, *, accept=""):
        if path.endswith("/scale"):
            return b'{"status": {"selector": "app=web"}}'
        return b'{"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}}}'

    def resources_for_kind(self, group, kind):
        return (self,)

    def path(self, namespace):
        return f"/apis/apps/v1/namespaces/{namespace}/deployments"


async def test_an_autoscaler_without_metrics_reads_cpu():
    cluster = WithoutMetrics()
    [cpu] = await metric_paths(Autoscaler("shop", "web", ("la",)), cluster, cluster)
    assert (cpu.title, cpu.resource) == ("Resource metric cpu", "cpu")
    assert cpu.path == "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb"


class WithFormula(WithoutMetrics):
    async def get(self, path, params=None, *, accept=""):
        if path.endswith("/scale"):
            return await super().get(path)
        return (
            b'{"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}, "metrics": ['
            b'{"type": "External", "name": "a", "external": {"metric": {"name": "queue"}}}, '
            b'{"type": "Formula", "formula": {"expression": "a / 2"}}]}}'
        )


async def test_a_formula_has_no_request_of_its_own():
    server = WithFormula()
    found = await metric_paths(Autoscaler("shop", "web", ("la",)), server, server)
    assert [each.title for each in found] == ["External metric queue"]
