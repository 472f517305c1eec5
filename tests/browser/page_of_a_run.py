"""`python -m tests.browser.page_of_a_run docs/pictures/page.png`: the page of an autoscaler that has just scaled.

The README is followed in a cluster of the testbed. For ten minutes the queue of `worker` grows and shrinks, and the scaler
scales it. Then `kubectl loadline ui` shows that. Needs Chromium (`testbed/chromium.py`).
"""

import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from testbed import ports
from testbed.chromium import Chromium
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from testbed.exporter import Exporter
from testbed.processes import start
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests.documented_blocks import ROOT, blocks_in
from tests.e2e.readme_user import User, create_workloads, export_queues

# The seconds at which the queue changes, and its messages from then on.
PLAN = ((0, 60), (60, 150), (150, 270), (240, 390), (330, 240), (420, 120))
SECONDS = 480
WIDTH = 1200
PORTS = (10443, 6443, 9090)
PATH = "/apis/loadline.io/v1beta1/namespaces/shop/loadautoscalers/worker"
OF_SCALER = "loadline_scaler_autoscaler_"
LABELS = {"exported_namespace": "shop", "name": "worker", "kind": "LoadAutoscaler"}


def main(picture: Path) -> None:
    """Follow the README, wait, and save the picture."""
    directory = Path(tempfile.mkdtemp(prefix="loadline-page-"))
    with ExitStack() as stack:
        forwarded = tuple((port, ports.reserve()) for port in PORTS)
        exporter = stack.enter_context(Exporter())
        options = PrometheusOptions(scrape_interval_seconds=1)
        prometheus = stack.enter_context(PrometheusServer(options, directory=directory / "p"))
        prometheus.add_target(exporter.target)
        cluster = stack.enter_context(
            Cluster(ClusterOptions(forwarded_ports=forwarded), directory=directory / "cluster")
        )
        create_workloads(cluster, {"worker": 1, "web": 2})
        export_queues(exporter, {"mail": PLAN[0][1]})
        user = User(cluster, prometheus.url, directory / "user")
        stack.callback(user.stop)
        for block in blocks_in(ROOT / "README.md"):
            if block.language == "yaml" or "helm install loadline" in block.text:
                user.follow(block.text)
            if "helm install loadline-adapter" in block.text:
                user.run_the_programs()
        user.runs("kubectl apply -f worker.yaml")
        run(cluster, exporter)
        asyncio.run(photograph(cluster, prometheus.url, directory, picture))


def run(cluster: Cluster, exporter: Exporter) -> None:
    """Change the queue by the plan, and export the replicas as the scaler's own metrics have them."""
    started = time.monotonic()

    def is_over() -> bool:
        elapsed = time.monotonic() - started
        messages = [messages for since, messages in PLAN if since <= elapsed][-1]
        export_queues(exporter, {"mail": messages})
        worker = cluster.get(PATH)
        spec, status = worker["spec"], worker.get("status", {})
        figures = {
            "status_current_replicas": status.get("currentReplicas"),
            "status_desired_replicas": status.get("desiredReplicas"),
            "proposed_replicas": status.get("decision", {}).get("proposedReplicas"),
            "effective_min_replicas": spec["minReplicas"],
            "effective_max_replicas": spec["maxReplicas"],
        }
        for name, value in figures.items():
            if value is not None:
                exporter.set(f"{OF_SCALER}{name}", value, **LABELS)
        exporter.set(f"{OF_SCALER}metric_value", messages, metric="queue_length", **LABELS)
        return elapsed > SECONDS

    until(is_over, what="the run", deadline_seconds=SECONDS + 60, every_seconds=1)


async def photograph(cluster: Cluster, url: str, directory: Path, picture: Path) -> None:
    """Save the page of the autoscaler, with its last hour."""
    ui = [sys.executable, "-m", "kubectl_loadline.program", "ui", "--open=false"]
    flags = [f"--kubeconfig={cluster.kubeconfig}", f"--prometheus-url={url}"]
    process = start("ui", [*ui, *flags], log_path=directory / "ui.log")
    try:
        await asyncio.to_thread(
            until,
            lambda: "http://127.0.0.1:" in process.log(),
            what="the page",
            deadline_seconds=60,
        )
        async with Chromium(width=WIDTH) as page:
            await page.open(f"{process.log().split()[-1]}la/shop/worker")
            await page.wait_for("document.querySelector('#result .headline')")
            await page.wait_for("document.querySelector('#chart svg')")
            height = await page.evaluate("document.documentElement.scrollHeight")
            await page.send(
                "Emulation.setDeviceMetricsOverride",
                width=WIDTH,
                height=height,
                deviceScaleFactor=1,
                mobile=False,
            )
            await page.picture(picture)
    finally:
        process.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
