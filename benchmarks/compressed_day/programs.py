"""Everything that a compressed day runs, started in order and always stopped."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from benchmarks.compressed_day import objects
from benchmarks.compressed_day.compressed_time import CompressedTime
from benchmarks.compressed_day.learned_days import Learned
from benchmarks.compressed_day.played_load import PlayedLoad
from testbed import ports
from testbed.cluster import Cluster
from testbed.cluster_options import WITHOUT_HPA_CONTROLLER, ClusterOptions
from testbed.direct_adapter import EXTERNAL, direct_adapter
from testbed.exporter import Exporter
from testbed.processes import Process, start
from testbed.programs import CRD, REPOSITORY, LoadlineProcess
from testbed.prometheus import PrometheusOptions, PrometheusServer

# In compressed seconds.
SYNC_SECONDS = 60
SCRAPE_SECONDS = 30.0
# How long the adapter reuses the result of a query.
FRESHNESS_SECONDS = 5.0
# Of real time, for the start of the scaler.
STARTING_SECONDS = 10.0
ACCOUNT = "reader"
OPTIONS = ClusterOptions(
    controllers=WITHOUT_HPA_CONTROLLER,
    # kwok renews its nodes less often than every 50 s, and the pods of a node that seems dead are not ready.
    controller_manager_flags=("--node-monitor-grace-period=2h",),
)


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The programs, and the time in which the scaler lives."""

    cluster: Cluster
    scaler: LoadlineProcess
    others: tuple[Process, ...]
    time: CompressedTime

    def check(self) -> None:
        """Raises ProcessFailed when a program has exited by itself."""
        for program in (*self.cluster.components.values(), self.scaler.process, *self.others):
            if program.exit_code is not None:
                raise program.failed(f"ended with exit code {program.exit_code}")

    def scaler_metrics(self) -> str:
        """The metrics of the scaler, as text."""
        create = self.cluster.kubectl("create", "token", ACCOUNT, f"-n{objects.NAMESPACE}")
        return self.scaler.get("/metrics", Authorization=f"Bearer {create.strip()}").text


@contextmanager
def started(
    load: PlayedLoad, learned: Learned, *, speed: float, start_up_seconds: float, directory: Path
) -> Iterator[Running]:
    """Start everything. Compressed time begins some seconds after this returns."""
    with ExitStack() as running:
        cluster = running.enter_context(Cluster(OPTIONS, directory=directory))
        exporter = running.enter_context(Exporter())
        prometheus = running.enter_context(
            PrometheusServer(
                PrometheusOptions(scrape_interval_seconds=SCRAPE_SECONDS / speed),
                directory=directory / "prometheus",
            )
        )
        prometheus.add_target(exporter.target)
        exporter.set(objects.SERIES, load.at(load.begins))
        adapter = running.enter_context(
            direct_adapter(
                cluster,
                objects.ADAPTER_CONFIGURATION,
                directory,
                f"--prometheus-url={prometheus.url}",
                f"--metrics-freshness={round(1000 * FRESHNESS_SECONDS / speed)}ms",
                served=[(EXTERNAL, "v1beta1")],
            )
        )
        _apply(cluster, load, learned, start_up_seconds / speed)
        prometheus.wait_for(objects.SERIES)
        compressed = CompressedTime(
            speed=speed,
            start_unix_seconds=load.begins,
            begins_at_seconds=time.monotonic() + STARTING_SECONDS,
        )
        exporter.set_function(objects.SERIES, lambda: load.at(compressed.now()))
        scaler = running.enter_context(_scaler(cluster, compressed, directory))
        scaler.wait_until_ready(STARTING_SECONDS - 1.0)
        others = [adapter.process.process]
        if prometheus.process is not None:
            others.append(prometheus.process)
        yield Running(cluster=cluster, scaler=scaler, others=tuple(others), time=compressed)


def _apply(cluster: Cluster, load: PlayedLoad, learned: Learned, start_up_seconds: float) -> None:
    """Both targets have the replicas that they would have, and the forecast what it has learned."""
    namespace = objects.NAMESPACE
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("create", "serviceaccount", ACCOUNT, f"-n{namespace}")
    account = f"--serviceaccount={namespace}:{ACCOUNT}"
    cluster.kubectl("create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin", account)
    cluster.apply_crd(CRD.read_text())
    for name in (objects.WITH, objects.WITHOUT):
        cluster.apply(
            objects.deployment(name, learned.replicas, start_up_seconds),
            objects.autoscaler(name, load.per_replica),
        )
    cluster.apply(*objects.HEARTBEATS)
    patch = msgspec.json.encode({"status": {"history": {"forecast": learned.digest}}}).decode()
    arguments = ("patch", "la", objects.WITH, f"-n{namespace}", "--subresource=status")
    cluster.kubectl(*arguments, "--type=merge", "--patch", patch)
    for name in (objects.WITH, objects.WITHOUT):
        cluster.kubectl("rollout", "status", f"deployment/{name}", f"-n{namespace}")


def _scaler(cluster: Cluster, compressed: CompressedTime, directory: Path) -> LoadlineProcess:
    port = ports.reserve()
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "benchmarks.compressed_day.scaler_process",
        repr(compressed.speed),
        repr(compressed.start_unix_seconds),
        repr(compressed.begins_at_seconds),
        f"--kubeconfig={cluster.kubeconfig}",
        f"--namespace={objects.NAMESPACE}",
        f"--sync-period={SYNC_SECONDS}s",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
    ]
    log_path = directory / "scaler.log"
    return LoadlineProcess(start("scaler", command, log_path=log_path, directory=REPOSITORY), port)
