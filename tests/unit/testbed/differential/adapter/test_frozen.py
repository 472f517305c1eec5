"""The proxy that holds Prometheus at one moment: the time is replaced, all else passes."""

import http.client
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from testbed.differential.adapter.frozen import FrozenPrometheus


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        told = {"path": self.path, "body": body, "token": self.headers.get("Authorization")}
        answer = json.dumps(told).encode()
        self.send_response(422)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        """Requests are not news."""


@pytest.fixture
def frozen() -> Iterator[FrozenPrometheus]:
    behind = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    behind.daemon_threads = True
    thread = Thread(target=behind.serve_forever, args=(0.05,))
    thread.start()
    with FrozenPrometheus(behind.server_address[1], at_unix_seconds=1234.5) as proxy:
        yield proxy
    behind.shutdown()
    thread.join()
    behind.server_close()


def ask(frozen, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(frozen.url).port)
    connection.request(method, path, body=body, headers={"Authorization": "Bearer x"})
    response = connection.getresponse()
    told = json.loads(response.read())
    connection.close()
    return response, told


def test_an_instant_query_is_evaluated_at_the_moment(frozen):
    _, told = ask(frozen, "GET", "/api/v1/query?" + urlencode({"query": 'up{a="b c"}', "time": 99}))
    assert parse_qs(urlsplit(told["path"]).query) == {
        "query": ['up{a="b c"}'],
        "time": ["1234.500"],
    }
    assert frozen.queries == ['up{a="b c"}']


def test_a_posted_query_too(frozen):
    _, told = ask(frozen, "POST", "/api/v1/query", urlencode({"query": "up", "time": 99}))
    assert parse_qs(told["body"]) == {"query": ["up"], "time": ["1234.500"]}


def test_everything_else_passes_unchanged(frozen):
    path = "/api/v1/series?match%5B%5D=up&start=1"
    response, told = ask(frozen, "GET", path)
    assert (told["path"], told["token"]) == (path, "Bearer x")
    assert (response.status, response.getheader("Content-Type")) == (422, "application/json")
    assert frozen.queries == []
