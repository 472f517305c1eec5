"""The demo from its beginning to its end."""

import asyncio
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from testbed.demo import history, picture
from testbed.demo.observing import Seen, see
from testbed.demo.plan import MIN_SECONDS, WORKLOADS, Plan, Workload
from testbed.demo.report import conclude
from testbed.demo.service import Running, Service
from testbed.demo.stage import Stage, started
from testbed.demo.story import Story
from testbed.demo.view import Frame, Look, View
from wire.kube.client import KubeClient
from wire.kube.connection import connect

FAILED_EXIT_CODE = 1
INTERRUPTED_EXIT_CODE = 130  # 128 + SIGINT, as shells say it
TICK_SECONDS = 0.5
ANSWER_SECONDS = 5.0  # an API server that takes longer is in trouble, and the view should say so
OUT = Path("out")


def demonstrate(seconds: float) -> int:
    """Play it, and return 0 when both workloads went up and came back."""
    console = Console()
    if seconds < MIN_SECONDS:
        console.print(f"Going up and down again takes {MIN_SECONDS:g} s: set DEMO_SECONDS higher.")
        return 2
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` would have it ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    plan = Plan(seconds=seconds)
    stories = [Story(workload=workload) for workload in WORKLOADS]
    directory = Path(tempfile.mkdtemp(prefix="loadline-demo-"))
    exit_code = FAILED_EXIT_CODE
    try:
        with View(console) as view, started(plan, directory, view.say) as stage:
            start_unix_seconds = time.time()
            asyncio.run(play(plan, stage, stories, view))
            between = history.Between(
                start_unix_seconds=start_unix_seconds, end_unix_seconds=time.time()
            )
            view.end()
            path = OUT / "demo.png"
            picture.draw([history.read(stage.prometheus, w, between) for w in WORKLOADS], path)
            exit_code = conclude(console, stories, stage, path)
    except KeyboardInterrupt:
        console.print("\nStopped; nothing is left running.")
        exit_code = INTERRUPTED_EXIT_CODE
    finally:
        if exit_code != FAILED_EXIT_CODE:  # the logs of a failure are worth a look
            shutil.rmtree(directory, ignore_errors=True)
    return exit_code


async def play(plan: Plan, stage: Stage, stories: list[Story], view: View) -> None:
    """Let the load rise and fall over what the cluster runs."""
    connection = await connect(stage.cluster.kubeconfig, user_agent="loadline-demo")
    client = KubeClient(connection, timeout_seconds=ANSWER_SECONDS)
    service = Service(stage.exporter)
    seen = [Seen() for _ in WORKLOADS]
    started_at = time.monotonic()
    for workload in WORKLOADS:
        load = partial(load_now, plan, workload, started_at)
        stage.exporter.set_function("demo_load", load, workload=workload.name)
    try:
        while (elapsed_seconds := time.monotonic() - started_at) < plan.seconds:
            stage.check()
            seen = await asyncio.gather(*map(partial(see, client), WORKLOADS, seen))
            frame = let_fall(plan, elapsed_seconds, seen, service)
            for story, look in zip(stories, frame.looks, strict=True):
                replicas = look.seen.replicas
                stage.exporter.set("demo_replicas", replicas, workload=look.workload.name)
                story.saw(replicas=replicas, load=look.load)
            view.show(frame)
            await asyncio.sleep(TICK_SECONDS)
    finally:
        await client.close()


def load_now(plan: Plan, workload: Workload, started_at_seconds: float) -> float:
    """The load of this moment, for whoever asks."""
    return workload.load.at((time.monotonic() - started_at_seconds) / plan.seconds)


def let_fall(plan: Plan, elapsed_seconds: float, seen: Sequence[Seen], service: Service) -> Frame:
    """Let the load of this moment fall on what runs."""
    loads = [one.load.at(elapsed_seconds / plan.seconds) for one in WORKLOADS]
    web, worker = seen
    service.advance(
        Running(web_pods=web.pods, worker_replicas=len(worker.pods), at_seconds=time.monotonic()),
        requests_per_second=loads[0],
        messages_per_second=loads[1],
    )
    looks = [
        Look(workload=workload, load=load, seen=one)
        for workload, load, one in zip(WORKLOADS, loads, seen, strict=True)
    ]
    return Frame(elapsed_seconds=elapsed_seconds, of_seconds=plan.seconds, looks=looks)
