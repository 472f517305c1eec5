"""What a person sees while it runs: a table that moves on a terminal, a line now and then elsewhere."""

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
TRAIL = 40  # looks that a trail shows
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


def trail(values: Sequence[float], highest: float) -> str:
    """Past values as bars, the newest at the right."""
    top = len(BARS) - 1
    heights = [min(top, round(value / highest * top)) if highest else 0 for value in values]
    return "".join(BARS[height] for height in heights[-TRAIL:])


class View:
    """Use as a context manager; `show` each frame."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=False)
        self._moves = console.is_terminal
        self._history: dict[str, list[tuple[float, float]]] = {}
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
        self._live.stop()

    def say(self, text: str) -> None:
        """Something is being started."""
        elapsed_seconds = time.monotonic() - self._started_at
        self._console.print(f"[dim]{elapsed_seconds:5.1f} s[/dim]  {text}", highlight=False)

    def show(self, frame: Frame) -> None:
        """A new moment."""
        for look in frame.looks:
            past = self._history.setdefault(look.workload.name, [])
            past.append((look.load, float(look.seen.replicas)))
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
        return Group(head, *[self._panel(look) for look in frame.looks])

    def _panel(self, look: Look) -> RenderableType:
        workload, seen = look.workload, look.seen
        loads, replicas = zip(*self._history[workload.name], strict=True)
        table = Table(box=box.ROUNDED, title_justify="left", width=min(100, self._console.width))
        table.title = Text.assemble(
            (workload.name, "bold"), (f"  {workload.kind}, {workload.controller}", "dim")
        )
        table.add_column("", style="dim", width=10)
        table.add_column("now", justify="right", width=18)
        table.add_column("lately", no_wrap=True, overflow="crop", ratio=1)
        table.add_row(
            "load",
            f"{look.load:.0f} {workload.load_unit}",
            Text(trail(loads, workload.load.peak), style="blue"),
        )
        metric = seen.metric_per_replica
        table.add_row(
            "metric",
            "" if metric is None else f"{metric:.1f}",
            Text.assemble(
                f"{workload.metric_title}, target ", (f"{workload.target_per_replica:g}", "bold")
            ),
        )
        ready = len(seen.pods)
        count = f"{seen.replicas}" if ready == seen.replicas else f"{seen.replicas} ({ready} ready)"
        table.add_row(
            "replicas", count, Text(trail(replicas, workload.max_replicas), style="green")
        )
        said = Text(seen.trouble, style="red") if seen.trouble else Text(seen.event)
        table.add_row("last event", "", said)
        return table


def plain(frame: Frame, look: Look) -> str:
    """A frame of one workload as a line."""
    workload, seen = look.workload, look.seen
    metric = "-" if seen.metric_per_replica is None else f"{seen.metric_per_replica:.1f}"
    return (
        f"{frame.elapsed_seconds:5.0f} s  {workload.name:<6} {look.load:5.0f} {workload.load_unit:<11}"
        f" {workload.metric_title} {metric:>6} (target {workload.target_per_replica:g})"
        f"  replicas {seen.replicas:2d}  {seen.trouble or seen.event}"
    )
