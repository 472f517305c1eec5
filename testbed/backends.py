"""Other programs with the HTTP API of Prometheus, on loopback: VictoriaMetrics, and Thanos Query with a sidecar."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from testbed import assets, ports, web
from testbed.processes import Process, start
from testbed.prometheus import PrometheusServer

SCRAPE_CONFIGURATION = """\
global: {{scrape_interval: {interval_ms}ms}}
scrape_configs:
- {{job_name: testbed, honor_labels: true, file_sd_configs: [{{files: [{targets}]}}]}}
"""


class RunningBackend(msgspec.Struct, frozen=True, kw_only=True):
    """A backend: its URL, and the processes that it consists of, the one with the HTTP API last."""

    url: str
    processes: tuple[Process, ...]


@contextmanager
def victoria_metrics(
    prometheus: PrometheusServer, directory: Path, *flags: str
) -> Iterator[RunningBackend]:
    """A single node that scrapes the targets of `prometheus` as often as it does."""
    directory.mkdir(parents=True, exist_ok=True)
    configuration = directory / "scrape.yaml"
    configuration.write_text(
        SCRAPE_CONFIGURATION.format(
            interval_ms=round(prometheus.options.scrape_interval_seconds * 1000),
            targets=msgspec.json.encode(str(prometheus.targets_path)).decode(),
        )
    )
    port = ports.reserve()
    command: list[str | Path] = [
        assets.find("victoria-metrics"),
        f"-httpListenAddr=127.0.0.1:{port}",
        f"-storageDataPath={directory / 'storage'}",
        f"-promscrape.config={configuration}",
        # Samples are visible after 30 s by default.
        "-search.latencyOffset=0s",
        "-search.disableCache",
        *flags,
    ]
    process = start("victoria-metrics", command, log_path=directory / "victoria-metrics.log")
    try:
        process.wait_until(lambda: web.is_ok(port, "/health"), what="VictoriaMetrics to be ready")
        yield RunningBackend(url=f"http://127.0.0.1:{port}", processes=(process,))
    finally:
        process.kill()
        ports.release(port)
        shutil.rmtree(directory / "storage", ignore_errors=True)


@contextmanager
def thanos(prometheus: PrometheusServer, directory: Path) -> Iterator[RunningBackend]:
    """A querier with one sidecar of `prometheus`, which needs external labels."""
    directory.mkdir(parents=True, exist_ok=True)
    sidecar_grpc, sidecar_http, query_grpc, query_http = (ports.reserve() for _ in range(4))
    program = assets.find("thanos")
    sidecar = start(
        "thanos-sidecar",
        [
            program,
            "sidecar",
            f"--prometheus.url={prometheus.url}",
            f"--tsdb.path={prometheus.directory / 'storage'}",
            f"--grpc-address=127.0.0.1:{sidecar_grpc}",
            f"--http-address=127.0.0.1:{sidecar_http}",
        ],
        log_path=directory / "sidecar.log",
    )
    query = start(
        "thanos-query",
        [
            program,
            "query",
            f"--endpoint=127.0.0.1:{sidecar_grpc}",
            f"--grpc-address=127.0.0.1:{query_grpc}",
            f"--http-address=127.0.0.1:{query_http}",
            *(f"--query.replica-label={label}" for label in prometheus.options.external_labels),
        ],
        log_path=directory / "query.log",
    )
    try:
        sidecar.wait_until(lambda: web.is_ok(sidecar_http, "/-/ready"), what="the sidecar")
        query.wait_until(lambda: web.is_ok(query_http, "/-/ready"), what="Thanos Query")
        yield RunningBackend(url=f"http://127.0.0.1:{query_http}", processes=(sidecar, query))
    finally:
        for process in (query, sidecar):
            process.kill()
        for port in (sidecar_grpc, sidecar_http, query_grpc, query_http):
            ports.release(port)
