"""A real Prometheus on loopback. Targets can be added and removed, and it can be stopped and restarted."""

import shutil
import tempfile
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from testbed import assets, ports, web
from testbed.processes import Process, start
from testbed.waiting import until


class PrometheusOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How Prometheus scrapes and evaluates."""

    scrape_interval_seconds: float = 1.0
    lookback_delta_seconds: float = 300.0  # Prometheus' default
    flags: tuple[str, ...] = ()
    external_labels: Mapping[str, str] = {}  # for what reads from several servers
    extra_configuration: str = ""  # YAML appended to prometheus.yml: rule_files and the like


class Vector(msgspec.Struct, frozen=True):
    """One element of an instant vector."""

    labels: dict[str, str]
    value: float
    unix_seconds: float


class QueryFailed(Exception):
    """Prometheus refused a query or did not respond."""


CONFIGURATION = """\
global:
  scrape_interval: {interval_ms}ms
  scrape_timeout: {interval_ms}ms
  evaluation_interval: {interval_ms}ms
  external_labels: {external_labels}
scrape_configs:
- job_name: testbed
  file_sd_configs:
  - files: [{targets}]
  # The target's own labels take precedence: an exporter here exposes series on behalf of pods.
  honor_labels: true
{extra}
"""


class PrometheusServer:
    """`with PrometheusServer() as prometheus:`; `prometheus.add_target(exporter.target)`."""

    def __init__(
        self, options: PrometheusOptions | None = None, *, directory: Path | None = None
    ) -> None:
        self.options = options or PrometheusOptions()
        self._is_temporary = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="loadline-prometheus-"))
        self.port = ports.reserve()
        self.process: Process | None = None
        self._program = assets.find("prometheus")
        self._targets: dict[str, Mapping[str, str]] = {}

    @property
    def url(self) -> str:
        """The URL of its HTTP API."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_path(self) -> Path:
        """The path of its log."""
        return self.directory / "logs" / "prometheus.log"

    @property
    def targets_path(self) -> Path:
        """The file_sd file with its targets."""
        return self.directory / "targets.json"

    def add_target(self, target: str, **labels: str) -> None:
        """Scrape `host:port` and add the labels to each of its series."""
        self._targets[target] = labels
        self._write_targets()

    def remove_target(self, target: str) -> None:
        """Stop scraping it; its series go stale."""
        self._targets.pop(target, None)
        self._write_targets()

    def query(self, promql: str) -> list[Vector]:
        """An instant query. A scalar is returned as a vector of one element."""
        response = web.get(self.port, f"/api/v1/query?{urllib.parse.urlencode({'query': promql})}")
        if response is None:
            raise QueryFailed(f"{self.url} does not respond")
        decoded: Any = msgspec.json.decode(response.body)
        if decoded["status"] != "success":
            raise QueryFailed(f"{promql}: {decoded['error']}")
        result = decoded["data"]["result"]
        if decoded["data"]["resultType"] == "scalar":
            result = [{"metric": {}, "value": result}]
        return [
            Vector(one["metric"], float(one["value"][1]), float(one["value"][0])) for one in result
        ]

    def wait_for(self, promql: str, *, deadline_seconds: float = 30.0) -> list[Vector]:
        """Wait until a query has a result, and return it."""
        return until(
            lambda: self.query(promql),
            what=f"series for {promql}",
            deadline_seconds=deadline_seconds,
        )

    def start(self) -> Self:
        """Start it with the data of an earlier run and wait until it is ready."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_targets()
        self._write_configuration()
        process = start("prometheus", self._command(), log_path=self.log_path)
        self.process = process
        process.wait_until(lambda: web.is_ok(self.port, "/-/ready"), what="prometheus to be ready")
        return self

    def stop(self) -> None:
        """Stop it; it keeps its data and port."""
        if self.process is not None:
            self.process.stop()
            self.process = None

    def kill(self) -> None:
        """Kill it; it keeps its data and port."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        ports.release(self.port)
        shutil.rmtree(self.directory / "storage", ignore_errors=True)
        if error is None and self._is_temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _command(self) -> list[str | Path]:
        return [
            self._program,
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.directory / 'storage'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            f"--query.lookback-delta={round(self.options.lookback_delta_seconds * 1000)}ms",
            "--log.level=warn",
            "--scrape.discovery-reload-interval=100ms",  # scrape a new target at once
            *self.options.flags,
        ]

    def _write_configuration(self) -> None:
        text = CONFIGURATION.format(
            interval_ms=round(self.options.scrape_interval_seconds * 1000),
            targets=msgspec.json.encode(str(self.targets_path)).decode(),
            external_labels=msgspec.json.encode(self.options.external_labels).decode(),
            extra=self.options.extra_configuration,
        )
        (self.directory / "prometheus.yml").write_text(text)

    def _write_targets(self) -> None:
        self.targets_path.parent.mkdir(parents=True, exist_ok=True)
        groups = [
            {"targets": [target], "labels": labels} for target, labels in self._targets.items()
        ]
        unfinished = self.targets_path.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.json.encode(groups))
        unfinished.rename(
            self.targets_path
        )  # Prometheus watches the file and must not read a partial one
