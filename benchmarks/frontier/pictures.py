"""The pictures: the frontiers of some loads, and for all loads which policy is short for how long."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from benchmarks.forecast import LEAST_PERCENT
from benchmarks.frontier.judged import Frontiers, frontiers, winner
from benchmarks.frontier.measured import Measured
from benchmarks.frontier.replays import FORECAST, HPA, RIVALS
from benchmarks.frontier.tables import SHOWN_EXTRA_PERCENT, Judged
from kubectl_loadline.backtest.hull import CostPoint

Axes = Any  # not typed by matplotlib's stubs
COLORS: Mapping[str, str] = {
    FORECAST: "#2f6fb0",
    HPA: "#e4772e",
    **dict(zip(RIVALS, ("#8b949e", "#6a4c93", "#3a7d44", "#b08900"), strict=True)),
}
BETTER, SAME, WORSE = "#00796b", "#f6f6f6", "#b3541e"
COLUMNS = 3
MINUTES_PER_PERCENT = 14.4
CELL_INCHES, NAME_INCHES, ROW_INCHES = 1.15, 2.4, 0.26


def draw_frontiers(measured: Sequence[Measured], path: Path) -> None:
    """One small plot for each load."""
    rows = math.ceil(len(measured) / COLUMNS)
    figure = Figure(figsize=(11, 0.7 + 2.9 * rows), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(rows, COLUMNS, squeeze=False)
    for plot, each in zip(plots.flat, measured, strict=False):
        _draw_load(plot, each)
    for plot in plots.flat[len(measured) :]:
        plot.set_axis_off()
    handles, labels = plots.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.supxlabel("replica-hours, in percent of the HPA with a target of 70%", fontsize=9)
    figure.supylabel("minutes a day with too few ready replicas", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")


def _draw_load(plot: Axes, measured: Measured) -> None:
    found = frontiers(measured.points)
    hours = found.hpa_at_target[0]
    low, high = (cost / hours for cost in found.costs)
    for policy in (*RIVALS, HPA, FORECAST):
        x, y = _line(found, policy, hours, high)
        width = 2.0 if policy in (HPA, FORECAST) else 1.0
        marker = "o" if policy in (HPA, FORECAST) else None
        plot.plot(x, y, color=COLORS[policy], lw=width, marker=marker, ms=3, label=policy)
    plot.set_xlim(100 * low - 2, 100 * high + 2)
    plot.set_yscale("symlog", linthresh=1.0)
    plot.set_ylim(bottom=0)
    plot.set_title(f"{measured.load} ({measured.shape.name})", fontsize=9, loc="left")
    plot.tick_params(labelsize=8)
    plot.spines[["top", "right"]].set_visible(False)


def _line(
    found: Frontiers, policy: str, hours: float, high: float
) -> tuple[list[float], list[float]]:
    points: list[CostPoint] = list(found.of_policy[policy])
    # Beyond its most expensive point, a policy is as good as there.
    if points and points[-1][0] < high * hours:
        points.append((high * hours, points[-1][1]))
    return [100 * cost / hours for cost, _ in points], [
        MINUTES_PER_PERCENT * short for _, short in points
    ]


def draw_winners(judged: Sequence[Judged], path: Path) -> None:
    """A row for each load, a column for each policy and start-up time."""
    start_ups = sorted({each.measured.start_up_minutes for each in judged})
    by_key = {(each.measured.load, each.measured.start_up_minutes): each for each in judged}
    first = [each for each in judged if each.measured.start_up_minutes == start_ups[0]]
    ordered = sorted(first, key=lambda each: each.order)
    size = (
        NAME_INCHES + CELL_INCHES * len(start_ups) * len(COLORS),
        1.5 + ROW_INCHES * len(ordered),
    )
    figure = Figure(figsize=size, dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(1, len(start_ups), squeeze=False, sharey=True)[0]
    for plot, minutes in zip(plots, start_ups, strict=True):
        rows = [by_key.get((each.measured.load, minutes)) for each in ordered]
        _draw_cells(plot, rows)
        plot.set_title(f"start-up {minutes} min", fontsize=10, loc="left")
    names = [f"{each.measured.load} ({each.measured.shape.name})" for each in ordered]
    plots[0].set_yticks(range(len(names)), names, fontsize=8)
    figure.supxlabel(
        f"minutes a day with too few ready replicas, at {SHOWN_EXTRA_PERCENT}% more replica-hours than the HPA with a "
        "target of 70%; color: compared with the HPA that costs as much; frame: the least",
        fontsize=8,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")


def _draw_cells(plot: Axes, rows: Sequence[Judged | None]) -> None:
    policies = [HPA, *RIVALS, FORECAST]
    colors = LinearSegmentedColormap.from_list("change", [BETTER, SAME, WORSE])
    shades = [[_shade(each, policy) for policy in policies] for each in rows]
    plot.imshow(shades, cmap=colors, vmin=-1.0, vmax=1.0, aspect="auto")
    for row, each in enumerate(rows):
        if each is None:
            continue
        least = winner(each.figures, SHOWN_EXTRA_PERCENT)
        for column, policy in enumerate(policies):
            short = each.figures.get(_name(policy))
            text = "-" if short is None else f"{MINUTES_PER_PERCENT * short:.1f}"
            weight = "bold" if policy == least else "normal"
            plot.text(column, row, text, ha="center", va="center", fontsize=8, weight=weight)
            if policy == least:
                corner = (column - 0.48, row - 0.46)
                plot.add_patch(Rectangle(corner, 0.96, 0.92, fill=False, edgecolor="0.1", lw=1.4))
    plot.set_xticks(range(len(policies)), [each.replace(", ", ",\n") for each in policies])
    plot.tick_params(axis="x", labelsize=7, rotation=30, length=0)
    plot.tick_params(axis="y", length=0)


def _shade(each: Judged | None, policy: str) -> float:
    """From -1, never short, to 1, short for twice as long as the HPA or more; 0 where nothing is known."""
    if each is None:
        return 0.0
    of_hpa, short = each.figures.get(_name(HPA)), each.figures.get(_name(policy))
    if of_hpa is None or short is None:
        return 0.0
    ratio = max(short, LEAST_PERCENT) / max(of_hpa, LEAST_PERCENT)
    return max(-1.0, min(1.0, ratio - 1.0))


def _name(policy: str) -> str:
    return f"short_percent +{SHOWN_EXTRA_PERCENT} {policy}"
