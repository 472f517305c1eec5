"""The live view of the demo: a table that updates on a terminal, a line every few seconds elsewhere."""

import re
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import msgspec
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from testbed.demo.load_plan import Workload
from testbed.demo.observation import Observation

BARS = " ▁▂▃▄▅▆▇█"
TRAIL = 56  # columns for the whole time
PRINT_EVERY_SECONDS = 5.0


class WorkloadFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One workload in one frame."""

    workload: Workload
    load: float
    observed: Observation


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of the demo."""

    elapsed_seconds: float
    of_seconds: float
    workloads: Sequence[WorkloadFrame]


def trail(values: Sequence[float], *, highest: float, done: float) -> str:
    """All values so far as bars, over the part of the width that corresponds to the elapsed time."""
    columns = max(1, round(TRAIL * done))
    top = len(BARS) - 1
    chosen = [values[column * len(values) // columns] for column in range(columns)]
    return "".join(BARS[min(top, round(value / highest * top))] for value in chosen)


def brief(event: str) -> str:
    """The event without the external metric's selector, which HPA messages print in Go syntax."""
    return re.sub(r"\(&LabelSelector\{.*\}\)", "", event)


class LiveView:
    """Use as a context manager; `show` each frame."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=False)
        self._is_terminal = console.is_terminal
        self._history: dict[str, list[tuple[float, float, float]]] = {}
        self._printed_at_seconds = -PRINT_EVERY_SECONDS
        self._started_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Stop updating; the last frame stays on the screen."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Print a line while the programs are started."""
        elapsed_seconds = time.monotonic() - self._started_at
        self._console.print(f"[dim]{elapsed_seconds:5.1f} s[/dim]  {text}", highlight=False)

    def show(self, frame: Frame) -> None:
        """Show a frame."""
        for workload_frame in frame.workloads:
            past = self._history.setdefault(workload_frame.workload.name, [])
            observed = workload_frame.observed
            past.append(
                (workload_frame.load, observed.metric_per_replica or 0.0, float(observed.replicas))
            )
        if self._is_terminal:
            if not self._live.is_started:
                self._live.start()
            self._live.update(self._rendered(frame))
        elif frame.elapsed_seconds - self._printed_at_seconds >= PRINT_EVERY_SECONDS:
            self._printed_at_seconds = frame.elapsed_seconds
            for workload_frame in frame.workloads:
                self._console.print(plain(frame, workload_frame), highlight=False, soft_wrap=True)

    def _rendered(self, frame: Frame) -> RenderableType:
        rest_seconds = max(0.0, frame.of_seconds - frame.elapsed_seconds)
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text("Loadline", style="bold"),
            ProgressBar(total=frame.of_seconds, completed=frame.elapsed_seconds, width=50),
            Text(f"{rest_seconds:.0f} s to go", style="dim"),
        )
        return Group(
            head,
            Text(),
            *[self._panel(frame, workload_frame) for workload_frame in frame.workloads],
        )

    def _panel(self, frame: Frame, workload_frame: WorkloadFrame) -> RenderableType:
        workload, observed = workload_frame.workload, workload_frame.observed
        done = frame.elapsed_seconds / frame.of_seconds
        loads, metrics, replicas = zip(*self._history[workload.name], strict=True)
        target = workload.target_per_replica

        def bars(values: Sequence[float], highest: float, color: str) -> Text:
            return Text(trail(values, highest=highest, done=done), style=color)

        table = Table(box=box.SIMPLE_HEAD, show_header=False, title_justify="left", pad_edge=False)
        table.title = Text.assemble(
            (workload.name, "bold"), (f"  {workload.kind}, {workload.controller}", "dim")
        )
        table.add_column("", style="dim", no_wrap=True)
        table.add_column("now", justify="right", min_width=12, no_wrap=True)
        table.add_column("so far", no_wrap=True, min_width=TRAIL, overflow="crop")
        table.add_row("load", f"{workload_frame.load:.0f}", bars(loads, workload.load.peak, "blue"))
        table.add_row("", Text(workload.load_unit, style="dim"))
        metric = observed.metric_per_replica
        table.add_row(
            "metric",
            "-" if metric is None else f"{metric:.1f}",
            bars(metrics, 2 * target, "yellow"),
        )
        table.add_row(
            "", Text(f"target {target:g}", style="dim"), Text(workload.metric_title, "dim")
        )
        ready = len(observed.pods)
        count = (
            f"{observed.replicas}"
            if ready == observed.replicas
            else f"{observed.replicas} ({ready} ready)"
        )
        table.add_row("replicas", count, bars(replicas, workload.max_replicas, "green"))
        last_line = (
            Text(observed.trouble, style="red") if observed.trouble else Text(brief(observed.event))
        )
        last_line.truncate(self._console.width - 2, overflow="ellipsis")
        return Group(table, last_line, Text())


def plain(frame: Frame, workload_frame: WorkloadFrame) -> str:
    """One workload of a frame as a line of text."""
    workload, observed = workload_frame.workload, workload_frame.observed
    metric = "-" if observed.metric_per_replica is None else f"{observed.metric_per_replica:.1f}"
    return (
        f"{frame.elapsed_seconds:5.0f} s  {workload.name:<6} {workload_frame.load:5.0f} {workload.load_unit:<11}"
        f" {workload.metric_title} {metric:>6} (target {workload.target_per_replica:g})"
        f"  replicas {observed.replicas:2d}  {observed.trouble or brief(observed.event)}"
    )
