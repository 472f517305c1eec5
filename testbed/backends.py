"""Another program with the HTTP API of Prometheus, on loopback: VictoriaMetrics."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from testbed import assets, ports, web
from testbed.processes import start
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
