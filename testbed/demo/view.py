"""What a person sees while it runs: a table that moves on a terminal, a line now and then elsewhere."""

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

from testbed.demo.observing import Seen
from testbed.demo.plan import Workload

BARS = " ▁▂▃▄▅▆▇█"
TRAIL = 56  # columns for the whole time
PLAIN_EVERY_SECONDS = 5.0


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One workload in one frame."""

    workload: Workload
    load: float
    seen: Seen


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of the demo."""

    elapsed_seconds: float
    of_seconds: float
    looks: Sequence[Look]


def trail(values: Sequence[float], *, highest: float, done: float) -> str:
    """All values so far as bars, in that part of the whole width that is done."""
    columns = max(1, round(TRAIL * done))
    top = len(BARS) - 1
    chosen = [values[column * len(values) // columns] for column in range(columns)]
    return "".join(BARS[min(top, round(value / highest * top))] for value in chosen)


def brief(event: str) -> str:
    """Without the selector of an external metric, which the HPA's messages print as Go does."""
    return re.sub(r"\(&LabelSelector\{.*\}\)", "", event)


class View:
    """Use as a context manager; `show` each frame."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=False)
        self._moves = console.is_terminal
        self._history: dict[str, list[tuple[float, float, float]]] = {}
        self._spoke_at_seconds = -PLAIN_EVERY_SECONDS
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
        """The last frame stays, and what is printed from now on comes below it."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Something is being started."""
        elapsed_seconds = time.monotonic() - self._started_at
        self._console.print(f"[dim]{elapsed_seconds:5.1f} s[/dim]  {text}", highlight=False)

    def show(self, frame: Frame) -> None:
        """A new moment."""
        for look in frame.looks:
            past = self._history.setdefault(look.workload.name, [])
            seen = look.seen
            past.append((look.load, seen.metric_per_replica or 0.0, float(seen.replicas)))
        if self._moves:
            if not self._live.is_started:
                self._live.start()
            self._live.update(self._picture(frame))
        elif frame.elapsed_seconds - self._spoke_at_seconds >= PLAIN_EVERY_SECONDS:
            self._spoke_at_seconds = frame.elapsed_seconds
            for look in frame.looks:
                self._console.print(plain(frame, look), highlight=False, soft_wrap=True)

    def _picture(self, frame: Frame) -> RenderableType:
        rest_seconds = max(0.0, frame.of_seconds - frame.elapsed_seconds)
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text("Loadline", style="bold"),
            ProgressBar(total=frame.of_seconds, completed=frame.elapsed_seconds, width=50),
            Text(f"{rest_seconds:.0f} s to go", style="dim"),
        )
        return Group(head, Text(), *[self._panel(frame, look) for look in frame.looks])

    def _panel(self, frame: Frame, look: Look) -> RenderableType:
        workload, seen = look.workload, look.seen
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
        table.add_row("load", f"{look.load:.0f}", bars(loads, workload.load.peak, "blue"))
        table.add_row("", Text(workload.load_unit, style="dim"))
        metric = seen.metric_per_replica
        table.add_row(
            "metric",
            "-" if metric is None else f"{metric:.1f}",
            bars(metrics, 2 * target, "yellow"),
        )
        table.add_row(
            "", Text(f"target {target:g}", style="dim"), Text(workload.metric_title, "dim")
        )
        ready = len(seen.pods)
        count = f"{seen.replicas}" if ready == seen.replicas else f"{seen.replicas} ({ready} ready)"
        table.add_row("replicas", count, bars(replicas, workload.max_replicas, "green"))
        said = Text(seen.trouble, style="red") if seen.trouble else Text(brief(seen.event))
        said.truncate(self._console.width - 2, overflow="ellipsis")
        return Group(table, said, Text())


def plain(frame: Frame, look: Look) -> str:
    """A frame of one workload as a line."""
    workload, seen = look.workload, look.seen
    metric = "-" if seen.metric_per_replica is None else f"{seen.metric_per_replica:.1f}"
    return (
        f"{frame.elapsed_seconds:5.0f} s  {workload.name:<6} {look.load:5.0f} {workload.load_unit:<11}"
        f" {workload.metric_title} {metric:>6} (target {workload.target_per_replica:g})"
        f"  replicas {seen.replicas:2d}  {seen.trouble or brief(seen.event)}"
    )
