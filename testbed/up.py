"""`python -m testbed up`: a control plane and a Prometheus for a developer, until Ctrl-C."""

import argparse
import signal
import time
from pathlib import Path

from testbed import assets
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions, HPAOptions
from testbed.prometheus import PrometheusServer

BANNER = """\
Up after {elapsed:.1f} s. Kubernetes {version} with {nodes} nodes:

  export KUBECONFIG={kubeconfig}
  alias kubectl={kubectl}

Prometheus: {prometheus}
  scrapes the targets in {targets} (file_sd; for instance [{{"targets": ["127.0.0.1:8080"]}}])
Logs: {logs}

Ctrl-C stops all programs."""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register the command."""
    up = commands.add_parser("up", help="start a control plane and a Prometheus, until Ctrl-C")
    up.add_argument(
        "--nodes", type=int, default=3, help="number of nodes that kwok simulates (default 3)"
    )
    up.add_argument(
        "--hpa-sync-period",
        type=float,
        default=15,
        metavar="SECONDS",
        help="sync period of the stock HPA controller (default 15)",
    )
    up.add_argument(
        "--directory", type=Path, help="directory for all files (default: a temporary one)"
    )
    up.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGINT or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    started_at = time.monotonic()
    hpa = HPAOptions(sync_period_seconds=arguments.hpa_sync_period)
    options = ClusterOptions(nodes=arguments.nodes, hpa=hpa)
    print("Starting a control plane and a Prometheus ...", flush=True)
    try:
        with (
            Cluster(options, directory=arguments.directory) as cluster,
            PrometheusServer(directory=cluster.directory / "prometheus") as prometheus,
        ):
            banner = BANNER.format(
                elapsed=time.monotonic() - started_at,
                version=assets.KUBERNETES_VERSIONS[assets.chosen_kubernetes()],
                nodes=arguments.nodes,
                kubeconfig=cluster.kubeconfig,
                kubectl=cluster.kubectl_path,
                prometheus=prometheus.url,
                targets=prometheus.targets_path,
                logs=cluster.log_directory,
            )
            print(banner, flush=True)
            _until_interrupted(cluster)
    except KeyboardInterrupt:
        print("\nStopped all programs.", flush=True)
    return 0


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _until_interrupted(cluster: Cluster) -> None:
    """Raises ProcessFailed when a program exits by itself."""
    while True:
        for process in cluster.components.values():
            if process.exit_code is not None:
                raise process.failed(f"ended with exit code {process.exit_code}")
        time.sleep(1)
