"""`loadline-scaler why` from outside the cluster: the error names the command that finds the scaler."""

import pytest

from scaler.__main__ import main

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        pytest.param(["--insecure-skip-tls-verify"], 1, id="nothing listens"),
        pytest.param([], 2, id="the certificate cannot be verified"),
    ],
)
def test_an_error_names_the_command_that_finds_the_scaler(flags, code, tmp_path, capsys):
    (tmp_path / "config").write_text(KUBECONFIG)
    arguments = [f"--kubeconfig={tmp_path / 'config'}", "--server=https://127.0.0.1:1", *flags]
    assert main(["why", "shop/web", *arguments]) == code
    assert capsys.readouterr().err.endswith("kubectl loadline why web -n shop\n")
