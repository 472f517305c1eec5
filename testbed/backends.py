"""Other programs with the HTTP API of Prometheus, on loopback: VictoriaMetrics, and Thanos Query with its sidecars."""

import shutil
from collections.abc import Iterator, Sequence
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


@contextmanager
def victoria_metrics(prometheus: PrometheusServer, directory: Path, *flags: str) -> Iterator[str]:
    """The URL of a single node that scrapes the targets of `prometheus` as often as it does."""
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
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        ports.release(port)
        shutil.rmtree(directory / "storage", ignore_errors=True)


@contextmanager
def thanos_sidecar(prometheus: PrometheusServer, directory: Path) -> Iterator["Sidecar"]:
    """A sidecar of `prometheus`, which needs external labels."""
    directory.mkdir(parents=True, exist_ok=True)
    grpc, http = ports.reserve(), ports.reserve()
    command: list[str | Path] = [
        assets.find("thanos"),
        "sidecar",
        f"--grpc-address=127.0.0.1:{grpc}",
        f"--http-address=127.0.0.1:{http}",
        f"--prometheus.url={prometheus.url}",
        f"--tsdb.path={prometheus.directory / 'storage'}",
    ]
    process = start("thanos-sidecar", command, log_path=directory / f"thanos-sidecar-{grpc}.log")
    try:
        process.wait_until(lambda: web.is_ok(http, "/-/ready"), what="the Thanos sidecar")
        yield Sidecar(process=process, address=f"127.0.0.1:{grpc}")
    finally:
        process.kill()
        ports.release(grpc)
        ports.release(http)


class Sidecar(msgspec.Struct, frozen=True, kw_only=True):
    """A running sidecar, and the address of its StoreAPI."""

    process: Process
    address: str


@contextmanager
def thanos_query(sidecars: Sequence[Sidecar], directory: Path, *flags: str) -> Iterator[str]:
    """The URL of a Thanos Query over these sidecars; the label `replica` differs between equal Prometheus servers.

    A sidecar that is down stays known, so that its absence is reported.
    """
    directory.mkdir(parents=True, exist_ok=True)
    grpc, http = ports.reserve(), ports.reserve()
    command: list[str | Path] = [
        assets.find("thanos"),
        "query",
        f"--grpc-address=127.0.0.1:{grpc}",
        f"--http-address=127.0.0.1:{http}",
        "--query.replica-label=replica",
        *(f"--endpoint-strict={each.address}" for each in sidecars),
        *flags,
    ]
    process = start("thanos-query", command, log_path=directory / f"thanos-query-{http}.log")
    try:
        process.wait_until(lambda: web.is_ok(http, "/-/ready"), what="Thanos Query")
        yield f"http://127.0.0.1:{http}"
    finally:
        process.kill()
        ports.release(grpc)
        ports.release(http)
