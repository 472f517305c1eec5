"""`kubectl loadline backtest` on the history of the demo: the replicas that it recorded, and what the replay makes of its load.

The stock HPA controller scaled one of the workloads, and Loadline's scaler the other, on real metrics.
"""

import asyncio
import io
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from testbed.demo.demonstration import run_load
from testbed.demo.live_view import LiveView
from testbed.demo.load_plan import (
    DRAINED_PER_REPLICA,
    NAMESPACE,
    SYNC_SECONDS,
    WEB,
    WORKER,
    WORKLOADS,
    Plan,
)
from testbed.demo.replica_summary import ReplicaSummary
from testbed.demo.stack import Stack, started

SECONDS = 120.0
SETTLED_SECONDS = 10


class Recorded(msgspec.Struct, frozen=True):
    """The stack after the demo, and the time that it took."""

    stack: Stack
    start_unix_seconds: int
    end_unix_seconds: int


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    plan = Plan(seconds=SECONDS)
    console = Console(file=io.StringIO())
    summaries = [ReplicaSummary(workload=workload) for workload in WORKLOADS]
    with (
        LiveView(console) as view,
        started(plan, tmp_path_factory.mktemp("demo"), view.say) as stack,
    ):
        # The autoscalers were created a moment ago.
        start = math.ceil(time.time()) + SETTLED_SECONDS
        asyncio.run(run_load(plan, stack, summaries, view))
        yield Recorded(stack, start, math.floor(time.time()))


def explanation(recorded: Recorded, name: str, file: Path) -> Path:
    """How the running adapter computes the metrics of an autoscaler."""
    command = [
        sys.executable, "-m", "adapter", "explain", name, "--output=json", f"--server={recorded.stack.adapter.url}",
        "--insecure-skip-tls-verify", f"--kubeconfig={recorded.stack.cluster.kubeconfig}",
    ]  # fmt: skip
    file.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    return file


def history_flags(recorded: Recorded, tmp_path: Path, of: str) -> list[str]:
    """The time of the demo, and its Prometheus."""
    return [
        f"--kubeconfig={recorded.stack.cluster.kubeconfig}", f"--prometheus-url={recorded.stack.prometheus.url}", "-n", NAMESPACE,
        f"--since={recorded.end_unix_seconds - recorded.start_unix_seconds}s", f"--step={SYNC_SECONDS}s",
        "--until=" + time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(recorded.end_unix_seconds)),
        f'--query=replicas=demo_replicas{{workload="{of}"}}', "--start-up=2s", f"--cache={tmp_path / 'cache'}",
    ]  # fmt: skip


def backtest(recorded: Recorded, tmp_path: Path, name: str, *arguments: str) -> dict:
    command = [
        sys.executable, "-m", "kubectl_loadline.program", "backtest", name, "-o", "json",
        f"--explanation={explanation(recorded, name.replace('/', f'/{NAMESPACE}/'), tmp_path / 'explained.json')}",
        *history_flags(recorded, tmp_path, name.rpartition("/")[2]), *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_replay_reproduces_what_the_hpa_controller_did(recorded, tmp_path):
    report = backtest(recorded, tmp_path, f"hpa/{WEB.name}")
    assert report["sources"][WEB.metric].startswith(
        "sum by (namespace, pod) (rate(http_requests_total"
    )
    assert report["fidelity"]["withinOnePercent"] >= 95
    assert report["warnings"] == []


def test_the_replay_reproduces_a_queue_and_what_the_scaler_did(recorded, tmp_path):
    rate = f"--service-rate={WORKER.metric}={DRAINED_PER_REPLICA:g}"
    report = backtest(recorded, tmp_path, f"la/{WORKER.name}", rate)
    (load,) = report["loads"]
    assert load["kind"] == "queue"
    # A queue keeps each difference of a few seconds as a difference of its length, and the demo is over in two minutes.
    assert report["fidelity"]["withinOnePercent"] >= 80


def test_the_proposal_for_a_workload_is_accepted_by_the_api_server(recorded, tmp_path):
    command = [
        sys.executable, "-m", "kubectl_loadline.program", "suggest", f"deployment/{WEB.name}", "--short=20",
        f"--rules={tmp_path / 'rules.yaml'}", *history_flags(recorded, tmp_path, WEB.name), "--step=1s",
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    proposed = tmp_path / "web.yaml"
    proposed.write_text(done.stdout)
    assert "http_requests_per_second" in done.stdout
    recorded.stack.cluster.kubectl("apply", "--dry-run=server", "-f", str(proposed))
    rules = subprocess.run(
        [sys.executable, "-m", "adapter", "check", str(tmp_path / "rules.yaml")], check=False
    )
    assert rules.returncode == 0
