"""Run the demo from start to end."""

import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from testbed.demo import picture, recorded_series
from testbed.demo.closing_report import next_commands, print_summary
from testbed.demo.live_view import Frame, LiveView, WorkloadFrame
from testbed.demo.load_plan import WORKLOADS, Plan, Workload
from testbed.demo.observation import Observation, observe
from testbed.demo.replica_summary import ReplicaSummary
from testbed.demo.simulated_service import Running, Service
from testbed.demo.stack import Stack, started
from wire.kube.client import KubeClient
from wire.kube.connection import connect

FAILED_EXIT_CODE = 1
INTERRUPTED_EXIT_CODE = 130  # 128 + SIGINT, the shell convention
TICK_SECONDS = 0.5
REQUEST_TIMEOUT_SECONDS = 5.0  # after this the view shows that the API server does not respond
OUT = Path("out")


def run_demo(seconds: float) -> int:
    """Run it; returns 0 when both workloads were scaled up and down again."""
    console = Console()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` sets it to ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    plan = Plan(seconds=seconds)
    summaries = [ReplicaSummary(workload=workload) for workload in WORKLOADS]
    directory = Path(tempfile.mkdtemp(prefix="loadline-demo-"))
    exit_code = FAILED_EXIT_CODE
    try:
        with LiveView(console) as view, started(plan, directory, view.say) as stack:
            start_unix_seconds = time.time()
            asyncio.run(run_load(plan, stack, summaries, view))
            time_range = recorded_series.TimeRange(
                start_unix_seconds=start_unix_seconds, end_unix_seconds=time.time()
            )
            view.end()
            path = OUT / "demo.png"
            picture.draw(
                [recorded_series.read(stack.prometheus, w, time_range) for w in WORKLOADS], path
            )
            exit_code = print_summary(console, summaries, stack, path)
            if console.is_terminal and sys.stdin.isatty():
                wait_for_key(console, stack)
    except KeyboardInterrupt:
        console.print("\nStopped; nothing is left running.")
        exit_code = INTERRUPTED_EXIT_CODE
    finally:
        if exit_code != FAILED_EXIT_CODE:  # keep the logs of a failure
            shutil.rmtree(directory, ignore_errors=True)
    return exit_code


def wait_for_key(console: Console, stack: Stack) -> None:
    """Keep everything running, for the commands that a person would try next."""
    plugin = Path(sys.executable).with_name("kubectl-loadline")
    console.print(next_commands(stack.cluster.kubeconfig, plugin), highlight=False, soft_wrap=True)
    console.print("Press Enter to stop everything.")
    sys.stdin.readline()


async def run_load(
    plan: Plan, stack: Stack, summaries: list[ReplicaSummary], view: LiveView
) -> None:
    """Apply the load to what the cluster runs until the time is over."""
    connection = await connect(stack.cluster.kubeconfig, user_agent="loadline-demo")
    client = KubeClient(connection, timeout_seconds=REQUEST_TIMEOUT_SECONDS)
    service = Service(stack.exporter)
    observed = [Observation() for _ in WORKLOADS]
    started_at = time.monotonic()
    for workload in WORKLOADS:
        load = partial(load_now, plan, workload, started_at)
        stack.exporter.set_function("demo_load", load, workload=workload.name)
    try:
        while (elapsed_seconds := time.monotonic() - started_at) < plan.seconds:
            stack.check()
            observed = await asyncio.gather(*map(partial(observe, client), WORKLOADS, observed))
            frame = apply_load(plan, elapsed_seconds, observed, service)
            for summary, workload_frame in zip(summaries, frame.workloads, strict=True):
                replicas = workload_frame.observed.replicas
                stack.exporter.set("demo_replicas", replicas, workload=workload_frame.workload.name)
                summary.record(replicas=replicas, load=workload_frame.load)
            view.show(frame)
            await asyncio.sleep(TICK_SECONDS)
    finally:
        await client.close()


def load_now(plan: Plan, workload: Workload, started_at_seconds: float) -> float:
    """The current load, evaluated at each scrape."""
    return workload.load.at((time.monotonic() - started_at_seconds) / plan.seconds)


def apply_load(
    plan: Plan, elapsed_seconds: float, observed: Sequence[Observation], service: Service
) -> Frame:
    """Apply the current load to the running pods."""
    loads = [one.load.at(elapsed_seconds / plan.seconds) for one in WORKLOADS]
    web, worker = observed
    service.advance(
        Running(web_pods=web.pods, worker_replicas=len(worker.pods), at_seconds=time.monotonic()),
        requests_per_second=loads[0],
        messages_per_second=loads[1],
    )
    workloads = [
        WorkloadFrame(workload=workload, load=load, observed=one)
        for workload, load, one in zip(WORKLOADS, loads, observed, strict=True)
    ]
    return Frame(elapsed_seconds=elapsed_seconds, of_seconds=plan.seconds, workloads=workloads)
