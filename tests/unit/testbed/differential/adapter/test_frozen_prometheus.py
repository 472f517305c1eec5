"""The proxy replaces the time of instant queries and forwards everything else unchanged."""

import http.client
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from testbed.differential.adapter.frozen_prometheus import FrozenPrometheus


class Echo(BaseHTTPRequestHandler):
    """Echoes the request."""

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        echoed = {"path": self.path, "body": body, "token": self.headers.get("Authorization")}
        answer = json.dumps(echoed).encode()
        self.send_response(422)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        """Requests are not logged."""


@pytest.fixture
def frozen() -> Iterator[FrozenPrometheus]:
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    upstream.daemon_threads = True
    thread = Thread(target=upstream.serve_forever, args=(0.05,))
    thread.start()
    with FrozenPrometheus(upstream.server_address[1], at_unix_seconds=1234.5) as proxy:
        yield proxy
    upstream.shutdown()
    thread.join()
    upstream.server_close()


def send(frozen, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(frozen.url).port)
    connection.request(method, path, body=body, headers={"Authorization": "Bearer x"})
    response = connection.getresponse()
    echoed = json.loads(response.read())
    connection.close()
    return response, echoed


def test_an_instant_query_is_evaluated_at_the_fixed_time(frozen):
    _, echoed = send(
        frozen, "GET", "/api/v1/query?" + urlencode({"query": 'up{a="b c"}', "time": 99})
    )
    assert parse_qs(urlsplit(echoed["path"]).query) == {
        "query": ['up{a="b c"}'],
        "time": ["1234.500"],
    }
    assert frozen.queries == ['up{a="b c"}']


def test_a_posted_query_is_too(frozen):
    _, echoed = send(frozen, "POST", "/api/v1/query", urlencode({"query": "up", "time": 99}))
    assert parse_qs(echoed["body"]) == {"query": ["up"], "time": ["1234.500"]}


def test_everything_else_is_forwarded_unchanged(frozen):
    path = "/api/v1/series?match%5B%5D=up&start=1"
    response, echoed = send(frozen, "GET", path)
    assert (echoed["path"], echoed["token"]) == (path, "Bearer x")
    assert (response.status, response.getheader("Content-Type")) == (422, "application/json")
    assert frozen.queries == []
