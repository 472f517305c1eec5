"""What can be explained: a path, or an autoscaler by its name."""

import pytest

from adapter.commands.explain import main as explain
from adapter.diagnosis.autoscaler_requests import Autoscaler, target_of


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
