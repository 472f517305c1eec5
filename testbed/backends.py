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


class Thanos(msgspec.Struct, frozen=True, kw_only=True):
    """A running Thanos program: a sidecar or Query. `address` is that of its StoreAPI."""

    process: Process
    address: str
    url: str


@contextmanager
def _thanos(command: str, directory: Path, *flags: str) -> Iterator[Thanos]:
    directory.mkdir(parents=True, exist_ok=True)
    grpc, http = ports.reserve(), ports.reserve()
    address, url = f"127.0.0.1:{grpc}", f"127.0.0.1:{http}"
    process = start(
        f"thanos-{command}",
        [
            assets.find("thanos"),
            command,
            f"--grpc-address={address}",
            f"--http-address={url}",
            *flags,
        ],
        log_path=directory / f"thanos-{command}-{http}.log",
    )
    try:
        process.wait_until(lambda: web.is_ok(http, "/-/ready"), what=f"thanos {command}")
        yield Thanos(process=process, address=address, url=f"http://{url}")
    finally:
        process.kill()
        ports.release(grpc)
        ports.release(http)


@contextmanager
def thanos_sidecar(prometheus: PrometheusServer, directory: Path) -> Iterator[Thanos]:
    """A sidecar of `prometheus`, which needs external labels."""
    path = f"--tsdb.path={prometheus.directory / 'storage'}"
    with _thanos("sidecar", directory, f"--prometheus.url={prometheus.url}", path) as sidecar:
        yield sidecar


@contextmanager
def thanos_query(sidecars: Sequence[Thanos], directory: Path, *flags: str) -> Iterator[str]:
    """The URL of a Thanos Query over these sidecars; the label `replica` differs between equal Prometheus servers.

    A sidecar that is down stays known, so that its absence is reported.
    """
    endpoints = (f"--endpoint-strict={each.address}" for each in sidecars)
    with _thanos("query", directory, "--query.replica-label=replica", *endpoints, *flags) as query:
        yield query.url
