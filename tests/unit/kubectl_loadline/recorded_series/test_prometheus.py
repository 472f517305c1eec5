"""Which days of Prometheus are kept on disk, and for whom."""

import argparse
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kubectl_loadline.recorded_series.of_metrics import prometheus_server
from kubectl_loadline.recorded_series.prometheus import SeriesClient, TimeSpan
from kubectl_loadline.recorded_series.queries import Selected

DAY = TimeSpan(start_unix_seconds=0, end_unix_seconds=86_400, step_seconds=60)
IN_CLUSTER = "http://prometheus.monitoring.svc:9090"


class FakePrometheus:
    """One series with the value 5, and the `warnings` of the test."""

    def __init__(self, warnings=()):
        self.warnings = list(warnings)
        self.requests = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        prometheus = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                prometheus.requests += 1
                result = [{"metric": {}, "values": [[60, "5"]]}]
                document = {"status": "success", "data": {"result": result}, "warnings": prometheus.warnings}  # fmt: skip
                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Nothing."""

        return Handler


@pytest.fixture
def prometheus():
    with FakePrometheus() as running:
        yield running


def read(prometheus, tmp_path, *, url=IN_CLUSTER, api_server="https://a:6443", headers=()):
    given = argparse.Namespace(
        prometheus_url=url,
        prometheus_header=list(headers),
        prometheus_token_file=None,
        prometheus_ca_file=None,
        program="",
    )
    server = prometheus_server(given, prometheus.url, api_server)
    with SeriesClient(server, cache=tmp_path / "cache") as client:
        found = client.samples("x", Selected(promql="x"), DAY, lambda *_: None)
    assert found == [(60.0, 5.0)]


def test_a_day_that_is_over_is_read_once(prometheus, tmp_path):
    read(prometheus, tmp_path)
    read(prometheus, tmp_path)
    assert prometheus.requests == 1


@pytest.mark.parametrize("url", ["", IN_CLUSTER], ids=["found", "in the cluster"])
def test_a_day_of_another_cluster_is_read_again(prometheus, tmp_path, url):
    read(prometheus, tmp_path, url=url)
    read(prometheus, tmp_path, url=url, api_server="https://b:6443")
    assert prometheus.requests == 2


def test_a_day_of_a_url_that_is_reached_directly_is_the_same_from_each_cluster(
    prometheus, tmp_path
):
    read(prometheus, tmp_path, url=prometheus.url)
    read(prometheus, tmp_path, url=prometheus.url, api_server="")
    assert prometheus.requests == 1


def test_a_day_of_another_tenant_is_read_again(prometheus, tmp_path):
    for tenant in ("a", "b"):
        read(prometheus, tmp_path, headers=[("X-Scope-OrgID", tenant)])
    assert prometheus.requests == 2


def test_the_names_in_the_cache_do_not_have_the_headers(prometheus, tmp_path):
    read(prometheus, tmp_path, headers=[("Authorization", "s3cret")])
    names = [str(each) for each in (tmp_path / "cache").rglob("*")]
    assert names
    assert not any("s3cret" in each for each in names)


@pytest.mark.parametrize(
    ("warning", "requests"),
    [
        ("No StoreAPIs matched for this query", 2),
        ("PromQL info: metric might not be a counter", 1),
    ],
)
def test_a_day_without_the_data_of_some_stores_is_read_again(tmp_path, warning, requests):
    with FakePrometheus([warning]) as prometheus:
        read(prometheus, tmp_path)
        read(prometheus, tmp_path)
        assert prometheus.requests == requests
