"""The closing report: a table of both workloads, and where the logs are when one was not scaled as expected."""

import re
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from testbed import web
from testbed.demo.load_plan import NAMESPACE
from testbed.demo.replica_summary import ReplicaSummary
from testbed.demo.stack import Stack
from testbed.prometheus import PrometheusServer

QUERIES_PATTERN = r'^prometheus_http_requests_total\{.*handler="/api/v1/query".*\} (\S+)$'


def summary_table(summaries: Sequence[ReplicaSummary]) -> Table:
    """One row for each workload."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("workload", "autoscaler"):
        table.add_column(title, no_wrap=True)
    for title in ("peak load", "replicas", "ups", "downs"):
        table.add_column(title, no_wrap=True, justify="right")
    for summary in summaries:
        workload = summary.workload
        table.add_row(
            workload.name,
            workload.kind,
            f"{summary.peak_load:.0f} {workload.load_unit}",
            f"{summary.lowest} → {summary.highest} → {summary.last}",
            str(summary.ups),
            str(summary.downs),
        )
    return table


def print_summary(
    console: Console, summaries: Sequence[ReplicaSummary], stack: Stack, picture: Path
) -> int:
    """Print the report and return the exit code."""
    console.print(summary_table(summaries))
    console.print(f"Prometheus answered {query_count(stack.prometheus)} queries of the adapter.")
    console.print(f"Plot: {picture}", highlight=False, soft_wrap=True)
    failed = [summary for summary in summaries if not summary.scaled_up_and_down]
    for summary in failed:
        name = summary.workload.name
        console.print(
            f"[red]{name} was not scaled up and down again[/red] ({summary.lowest} to {summary.highest} "
            f"replicas, {summary.last} at the end)."
        )
    if failed:
        console.print("See the logs:", highlight=False)
        for process in (stack.adapter.process, stack.scaler.process):
            console.print(f"  {process.log_path}", highlight=False, soft_wrap=True)
        console.print(f"  {stack.cluster.log_directory}", highlight=False, soft_wrap=True)
    return 1 if failed else 0


def next_commands(kubeconfig: Path, plugin: Path) -> str:
    """What to try now, in another terminal."""
    return (
        "Everything is still running. In another terminal:\n\n"
        f"  export KUBECONFIG={kubeconfig}\n"
        f"  {plugin} why worker -n {NAMESPACE}     # why it has this many replicas\n"
        f"  {plugin} simulate worker -n {NAMESPACE} --metric=queue_length=3000     # what it would do with a longer queue\n"
        f"  {plugin} ui     # all of this in the browser\n"
    )


def query_count(prometheus: PrometheusServer) -> int:
    """The number of instant queries, by Prometheus' own counter; only the adapter sends any."""
    response = web.get(prometheus.port, "/metrics")
    counted = re.findall(QUERIES_PATTERN, response.text if response else "", re.MULTILINE)
    return round(sum(map(float, counted)))
