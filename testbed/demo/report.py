"""The end: a table of what happened, whether it was what should happen, and where to look if not."""

import re
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from testbed import web
from testbed.demo.stage import Stage
from testbed.demo.story import Story
from testbed.prometheus import PrometheusServer

QUERIES_PATTERN = r'^prometheus_http_requests_total\{.*handler="/api/v1/query".*\} (\S+)$'


def summary(stories: Sequence[Story]) -> Table:
    """One row for each workload."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("workload", "autoscaler"):
        table.add_column(title, no_wrap=True)
    for title in ("peak load", "replicas", "ups", "downs"):
        table.add_column(title, no_wrap=True, justify="right")
    for story in stories:
        workload = story.workload
        table.add_row(
            workload.name,
            workload.kind,
            f"{story.peak_load:.0f} {workload.load_unit}",
            f"{story.lowest} → {story.highest} → {story.last}",
            str(story.ups),
            str(story.downs),
        )
    return table


def conclude(console: Console, stories: Sequence[Story], stage: Stage, picture: Path) -> int:
    """Print the end and return the exit code."""
    console.print(summary(stories))
    console.print(f"Prometheus answered {queries_asked(stage.prometheus)} queries of the adapter.")
    console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)
    failed = [story for story in stories if not story.came_back]
    for story in failed:
        name = story.workload.name
        console.print(
            f"[red]{name} did not scale up and down again[/red] ({story.lowest} to {story.highest} "
            f"replicas, {story.last} at the end)."
        )
    if failed:
        console.print("Look at what the programs said:", highlight=False)
        for process in (stage.adapter.process, stage.scaler.process):
            console.print(f"  {process.log_path}", highlight=False, soft_wrap=True)
        console.print(f"  {stage.cluster.log_directory}", highlight=False, soft_wrap=True)
    return 1 if failed else 0


def queries_asked(prometheus: PrometheusServer) -> int:
    """Instant queries so far, by Prometheus' own count; nobody but the adapter sends any."""
    answer = web.get(prometheus.port, "/metrics")
    counted = re.findall(QUERIES_PATTERN, answer.text if answer else "", re.MULTILINE)
    return round(sum(map(float, counted)))
