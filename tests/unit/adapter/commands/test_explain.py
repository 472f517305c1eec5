"""`loadline-adapter explain` from outside the cluster: the error names the command that finds the adapter."""

import pytest

from adapter.__main__ import main

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.mark.parametrize(
    ("target", "code", "command"),
    [
        pytest.param("/apis/x", 2, "kubectl loadline explain /apis/x", id="certificate"),
        pytest.param("shop/web", 1, "kubectl loadline explain web -n shop", id="API server"),
    ],
)
def test_an_error_names_the_command_that_finds_the_adapter(target, code, command, tmp_path, capsys):
    (tmp_path / "config").write_text(KUBECONFIG)
    assert main(["explain", target, f"--kubeconfig={tmp_path / 'config'}"]) == code
    assert capsys.readouterr().err.endswith(f"{command}\n")
