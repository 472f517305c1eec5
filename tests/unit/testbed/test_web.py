"""Requests on connections that are kept."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from testbed import ports, web
from testbed.background import Served


@contextmanager
def serving(port: int = 0, *, closes: bool = False) -> Iterator[tuple[int, set[tuple[str, int]]]]:
    """The port, and the addresses that requests come from. `closes`: the connection ends after each response, unannounced."""
    clients = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            clients.add(self.client_address)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
            self.close_connection = closes

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(201)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    with Served(server) as served:
        yield served.port, clients


def test_requests_one_after_the_other_use_one_connection():
    with serving() as (port, clients), closing(web.Connections(port)) as connections:
        assert [connections.get("/").status for _ in range(3)] == [200] * 3
        assert len(clients) == 1


def test_a_request_may_have_a_body():
    with serving() as (port, _), closing(web.Connections(port)) as connections:
        assert connections.get("/").status == 200
        response = connections.send("POST", "/", body=b"sent")
        assert (response.status, response.body) == (201, b"sent")


def test_a_request_is_sent_again_on_a_new_connection_if_the_server_has_closed_the_kept_one():
    with serving(closes=True) as (port, clients), closing(web.Connections(port)) as connections:
        assert [connections.get("/").status for _ in range(3)] == [200] * 3
        assert len(clients) == 3


def test_without_a_server_there_is_no_response():
    port = ports.reserve()
    with closing(web.Connections(port)) as connections:
        assert connections.get("/") is None
    ports.release(port)


def test_single_requests_have_a_connection_each():
    with serving() as (port, clients):
        assert [web.get(port, "/").status for _ in range(2)] == [200] * 2
        assert len(clients) == 2
