"""`loadline-scaler why`: what it prints of a decision, and which error names the command that finds the scaler."""

import msgspec
import pytest

from kubectl_loadline.decisions.last import printed
from scaler.__main__ import main
from scaler.algorithm.derivation import Derivation, encoded

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


@pytest.mark.parametrize(
    ("connection", "shown"),
    [
        pytest.param(
            "directly from Service monitoring/adapter, 2 of them streamed",
            "Metrics are read directly from Service monitoring/adapter, 2 of them streamed.",
            id="directly",
        ),
        pytest.param("through kube-apiserver", "", id="as the HPA controller reads them"),
        pytest.param(None, "", id="a scaler of before"),
    ],
)
def test_a_connection_to_an_adapter_is_shown_under_the_decision(connection, shown):
    decision = encoded(Derivation(autoscaler="shop/web", made_at_unix_seconds=0.0, branch=""))
    without = printed(decision, "text")
    if connection is not None:
        document = msgspec.json.decode(decision) | {"metrics_connection": connection}
        decision = msgspec.json.encode(document)
    assert printed(decision, "text").removeprefix(without).strip() == shown
