"""`loadline-adapter explain` from outside the cluster: the error names the command that finds the adapter."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from adapter.__main__ import main
from adapter.diagnosis.explanation import Explanation
from testbed.certificates import Authority

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


class Explains(BaseHTTPRequestHandler):
    """A running adapter that explains every path."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(msgspec.json.encode(Explanation(path="/apis/x", code=200, value_count=1)))

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def adapter(tmp_path):
    """Its certificate is for the name that it has in its cluster, and not for its address."""
    authority = Authority("test")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    pair = authority.serving("adapter", ["loadline-adapter.monitoring.svc"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*pair.write(tmp_path, "adapter"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Explains) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param(["--tls-server-name=loadline-adapter.monitoring.svc"], 0, id="its name"),
        pytest.param([], 1, id="its address"),
        pytest.param(["--tls-server-name=loadline-adapter.other.svc"], 1, id="another name"),
    ],
)
def test_the_certificate_of_the_adapter_is_verified_for_the_given_name(
    adapter, more, code, tmp_path
):
    (tmp_path / "config").write_text(KUBECONFIG)
    to = [f"--server={adapter}", f"--ca-file={tmp_path / 'ca.crt'}"]
    assert main(["explain", "/apis/x", f"--kubeconfig={tmp_path / 'config'}", *to, *more]) == code
