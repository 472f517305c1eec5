"""The door to prometheus-api-client: our credentials go with every request, and failures come out as ours."""

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from adapter.fetch.credentials import FileCredentials
from adapter.fetch.history import History
from adapter.model import Backend, ResultKind
from adapter.ports import QueryFailed
from testbed import ports
from testbed.certificates import Authority

VECTOR = {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [12.5, "NaN"]}]}


class Canned:
    """A server that says one thing, and remembers what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.status, self.body = 200, json.dumps({"status": "success", "data": VECTOR}).encode()
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.command, self.path, dict(self.headers)))
                self.send_response(outer.status)
                self.end_headers()
                self.wfile.write(outer.body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Canned":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Canned]:
    with Canned() as running:
        yield running


@pytest.fixture
def history():
    """`history(backend)`, closed afterwards."""
    opened: list[History] = []

    async def of(backend: Backend) -> History:
        credentials = FileCredentials(backend)
        opened.append(History(backend, headers=await credentials.headers(), tls=credentials.tls()))
        return opened[-1]

    yield of
    for each in opened:
        each.close()


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_query_takes_the_path_parameters_headers_and_token_along(
    server, history, tmp_path, verb
):
    (tmp_path / "token").write_text("secret\n")
    url = f"{server.url}/prometheus/?tenant=a"
    backend = Backend(
        url=url, verb=verb, headers=(("X-Scope-OrgID", "t"),), token_file=tmp_path / "token"
    )
    evaluation = (await history(backend)).instant("up{a='b'}")
    [(method, path, headers)] = server.asked
    assert (method, urlsplit(path).path) == (verb, "/prometheus/api/v1/query")
    assert parse_qs(urlsplit(path).query) == {"query": ["up{a='b'}"], "tenant": ["a"]}
    assert (headers["X-Scope-OrgID"], headers["Authorization"]) == ("t", "Bearer secret")
    assert evaluation.kind is ResultKind.VECTOR
    [row] = evaluation.samples
    assert (row.labels, str(row.value), row.timestamp_seconds) == ({"a": "b"}, "nan", 12.5)


async def test_a_user_and_password_are_basic_authentication(server, history, tmp_path):
    (tmp_path / "password").write_text("s\n")
    backend = Backend(url=server.url, username="u", password_file=tmp_path / "password")
    (await history(backend)).instant("up")
    assert server.asked[0][2]["Authorization"] == "Basic dTpz"


async def test_series_come_whole(server, history):
    server.body = json.dumps(
        {"status": "success", "data": [{"__name__": "up", "job": "a"}]}
    ).encode()
    found = (await history(Backend(url=server.url))).series('up{job!=""}', seconds=60.0)
    assert found == [{"__name__": "up", "job": "a"}]
    asked = parse_qs(urlsplit(server.asked[0][1]).query)
    assert asked["match[]"] == ['up{job!=""}']
    assert float(asked["end"][0]) - float(asked["start"][0]) == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("result", "kind", "samples"),
    [
        pytest.param({"resultType": "scalar", "result": [1, "2"]}, ResultKind.SCALAR, 1, id="a scalar"),
        pytest.param({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "2"]]}]}, ResultKind.MATRIX, 0, id="a matrix"),
        pytest.param({"resultType": "vector", "result": []}, ResultKind.VECTOR, 0, id="nothing"),
    ],
)  # fmt: skip
async def test_the_kind_of_an_answer_is_told_by_its_form(server, history, result, kind, samples):
    server.body = json.dumps({"status": "success", "data": result}).encode()
    evaluation = (await history(Backend(url=server.url))).instant("up")
    assert (evaluation.kind, len(evaluation.samples)) == (kind, samples)


@pytest.mark.parametrize(
    ("status", "body", "cause", "retryable"),
    [
        pytest.param(400, b'{"status":"error","errorType":"bad_data","error":"1:4: it\'s wrong"}', "bad_data: 1:4: it's wrong", False, id="a refusal"),
        pytest.param(503, b"<html>no</html>", "HTTP 503", True, id="a proxy's page"),
        pytest.param(401, b"", "HTTP 401", False, id="not authorized"),
        pytest.param(200, b"<html>login</html>", "not Prometheus' JSON", False, id="a login page"),
        pytest.param(200, b'{"status":"success"}', "not Prometheus' JSON", False, id="no data"),
        pytest.param(200, b'{"status":"success","data":{"result":[{"metric":{},"value":7}]}}', "not Prometheus' JSON", False, id="rows that are none"),
    ],
)  # fmt: skip
async def test_a_failure_says_its_cause(server, history, status, body, cause, retryable):
    server.status, server.body = status, body
    with pytest.raises(QueryFailed) as failed:
        (await history(Backend(url=f"{server.url}/?key=hidden"))).instant("up")
    assert cause in failed.value.cause
    assert "hidden" not in str(failed.value)
    assert failed.value.retryable is retryable


async def test_nobody_there_is_a_refused_connection(history):
    with pytest.raises(QueryFailed, match="Connection refused") as failed:
        (await history(Backend(url=f"http://127.0.0.1:{ports.reserve()}"))).series("up")
    assert failed.value.retryable


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[Canned, Path, Authority]]:
    """A server that wants a client certificate of the authority whose CA is in the file."""
    authority = Authority("history")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    certificate, key = authority.serving("prometheus").write(tmp_path, "server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.load_verify_locations(tmp_path / "ca.crt")
    tls.verify_mode = ssl.CERT_REQUIRED
    with Canned(tls) as running:
        yield running, tmp_path, authority


async def test_ca_and_client_certificate_are_those_of_the_server(secure, history):
    running, folder, authority = secure
    certificate, key = authority.client("me").write(folder, "client")
    backend = Backend(
        url=running.url,
        ca_file=folder / "ca.crt",
        client_cert_file=Path(certificate),
        client_key_file=Path(key),
    )
    assert (await history(backend)).instant("up").samples


async def test_a_server_of_another_authority_is_not_trusted(secure, history):
    running, _, _ = secure
    with pytest.raises(QueryFailed, match="certificate verify failed"):
        (await history(Backend(url=running.url))).instant("up")
