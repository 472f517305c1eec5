"""The plot: for each workload three panels on one time axis: load, metric with its target, replicas."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from testbed.demo.recorded_series import RecordedWorkload, TimeSeries

INK = "#24292f"
FAINT = "#8b949e"
LOAD = "#4c78a8"
METRIC = "#e4772e"
REPLICAS = "#3a8f5c"
LABELLED_PART = 0.035  # a shorter stretch has no space for its label

Axes = Any  # not typed by matplotlib's stubs


def draw(workloads: Sequence[RecordedWorkload], path: Path) -> None:
    """Write a PNG with one column per workload."""
    spaced = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.08)
    figure = Figure(figsize=(6.4 * len(workloads), 8.4), dpi=130, layout=spaced)
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        3, len(workloads), sharex="col", squeeze=False, height_ratios=[1.0, 1.0, 1.2]
    )
    for column, recorded in enumerate(workloads):
        _load(grid[0][column], recorded)
        _metric(grid[1][column], recorded)
        _replicas(grid[2][column], recorded)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")


def _load(axes: Axes, recorded: RecordedWorkload) -> None:
    workload = recorded.workload
    axes.set_title(workload.name, loc="left", fontsize=15, fontweight="bold", color=INK, pad=24)
    axes.text(
        0,
        1.045,
        f"{workload.kind}, {workload.controller}",
        transform=axes.transAxes,
        color=FAINT,
        fontsize=10,
    )
    axes.plot(recorded.load.seconds, recorded.load.values, color=LOAD, linewidth=2)
    axes.fill_between(recorded.load.seconds, recorded.load.values, color=LOAD, alpha=0.15)
    _style(axes, f"load, {workload.load_unit}")


def _metric(axes: Axes, recorded: RecordedWorkload) -> None:
    target = recorded.workload.target_per_replica
    seconds, values = recorded.metric.seconds, recorded.metric.values
    axes.plot(seconds, values, color=METRIC, linewidth=1.8)
    above = [value > target for value in values]
    axes.fill_between(
        seconds, values, target, where=above, interpolate=True, color=METRIC, alpha=0.18
    )
    axes.axhline(target, color=INK, linewidth=1, linestyle=(0, (5, 3)))
    axes.annotate(
        f"target {target:g}",
        xy=(1, target),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
        color=INK,
    )
    _style(axes, recorded.workload.metric_title)


def _replicas(axes: Axes, recorded: RecordedWorkload) -> None:
    line = recorded.replicas
    axes.step(line.seconds, line.values, where="post", color=REPLICAS, linewidth=2)
    axes.fill_between(line.seconds, line.values, step="post", color=REPLICAS, alpha=0.18)
    whole_seconds = line.seconds[-1] - line.seconds[0] if line.seconds else 0
    for start, end, value in _constant_stretches(line):
        if end - start >= LABELLED_PART * whole_seconds:
            axes.annotate(
                f"{value:.0f}",
                xy=((start + end) / 2, value),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color=REPLICAS,
            )
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda s, _: f"{int(s) // 60}:{int(s) % 60:02d}"))
    axes.xaxis.set_major_locator(MaxNLocator(steps=[1, 3, 6], nbins=9))
    axes.set_xlabel("minutes", color=FAINT)
    _style(axes, "replicas")


def _constant_stretches(line: TimeSeries) -> list[tuple[float, float, float]]:
    """(start, end, value) of each stretch with a constant value."""
    stretches: list[tuple[float, float, float]] = []
    for at, value in zip(line.seconds, line.values, strict=True):
        if stretches and stretches[-1][2] == value:
            stretches[-1] = (stretches[-1][0], at, value)
        else:
            if stretches:
                stretches[-1] = (stretches[-1][0], at, stretches[-1][2])
            stretches.append((at, at, value))
    return stretches


def _style(axes: Axes, title: str) -> None:
    axes.set_ylabel(title, color=FAINT)
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.08)
    axes.margins(x=0)
    axes.grid(axis="y", color="#d0d7de", linewidth=0.6)
    axes.tick_params(colors=FAINT, labelsize=9)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#d0d7de")
