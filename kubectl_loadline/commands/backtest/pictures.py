"""The pictures of a backtest as PNG: load, replicas, and the frontier of cost and time short. Needs matplotlib.

The colours are those of the page.
"""

import io
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubectl_loadline.backtest.comparison import (
    ORACLE,
    Played,
    Result,
    demanded,
    play,
    results,
    scaled_targets,
)
from kubectl_loadline.backtest.report import Report, Request
from kubectl_loadline.colours import (
    CURRENT,
    DEMAND,
    DESIRED,
    FORECAST,
    LIMITS,
    LOAD,
    PROBLEM,
    Colour,
)
from kubectl_loadline.libraries import require
from kubectl_loadline.terminal.progress import Progress

# The targets of the frontier, as shares of the given ones.
FACTORS = (0.7, 0.85, 1.0, 1.1, 1.2)
POINTS_MAX = 1500
SIZE_INCHES = (12, 4.5)
PANEL_INCHES, AXIS_INCHES = 1.5, 0.5

POLICIES = (CURRENT, FORECAST, LOAD, DESIRED, DEMAND)
"""Those of the lines of the frontier."""

Axes = Any  # matplotlib has no types for what its layouts return
Frontier = Mapping[str, Sequence[Result]]


def frontier_of(request: Request, progress: Progress) -> Frontier:
    """Of each policy, the results with other targets, at the median start-up time."""
    found: dict[str, Sequence[Result]] = {}
    for policy in request.policies:
        played: list[Played] = []
        for factor in FACTORS:
            progress(f"{policy.name} with other targets", len(played), len(FACTORS))
            changed = scaled_targets(policy, factor)
            played.append(play(changed, request.scenario, request.start_ups[0]))
        found[policy.name] = results(played, request.scenario)
    return found


def pictures(
    request: Request, report: Report, played: Sequence[Played], frontier: Frontier
) -> dict[str, bytes]:
    """PNGs by name. Raises `MissingLibrary` without matplotlib."""
    return {
        "load": _picture(lambda panels: _load(panels[0], request, played)),
        "replicas": _replicas(request, played),
        "frontier": _picture(lambda panels: _frontier(panels[0], request, report, frontier)),
    }


def thinned(times: Sequence[int], values: Sequence[float]) -> tuple[list[datetime], list[float]]:
    """At most so many points that a picture can show, each the highest of its time."""
    size = max(1, math.ceil(len(times) / POINTS_MAX))
    moments = [datetime.fromtimestamp(times[i], UTC) for i in range(0, len(times), size)]
    highest = [
        max((v for v in values[i : i + size] if not math.isnan(v)), default=math.nan)
        for i in range(0, len(values), size)
    ]
    return moments, highest


def _picture(
    draw: Callable[[Sequence[Axes]], None],
    *,
    panels: int = 1,
    size_inches: tuple[float, float] = SIZE_INCHES,
) -> bytes:
    """`draw` gets so many plots, one below the other, with the same axes."""
    figure = require("matplotlib.figure").Figure(figsize=size_inches, dpi=100, layout="constrained")
    require("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    found = figure.subplots(panels, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    draw(found)
    for axes in found:
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    written = io.BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue()


def _label(axes: Axes, at: object, value: float, text: str, colour: Colour) -> None:
    """Beside a curve, in its colour."""
    axes.annotate(
        text,
        (at, value),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=colour.light,
        fontsize="small",
        annotation_clip=False,
    )


def _load(axes: Axes, request: Request, played: Sequence[Played]) -> None:
    scenario = request.scenario
    model = scenario.models.main()
    times = list(scenario.range.times())
    loads = [math.nan if (load := model.load.at(now)) is None else load for now in times]
    moments, values = thinned(times, loads)
    axes.plot(moments, values, color=LOAD.light, linewidth=0.9)
    last = next((each for each in reversed(values) if not math.isnan(each)), 0.0)
    _label(axes, moments[-1], last, "load", LOAD)
    for each in played:
        if any(not math.isnan(bound) for bound in each.bounds):
            moments, bounds = thinned(each.times, each.bounds)
            _, below = thinned(each.times, [model.load.at(now) or 0.0 for now in each.times])
            axes.fill_between(moments, below, bounds, alpha=0.25, color=FORECAST.light, linewidth=0)
            axes.plot(moments, bounds, linewidth=0.8, color=FORECAST.light)
            top = max((n for n in bounds if not math.isnan(n)), default=0.0)
            at = moments[bounds.index(top)]
            _label(axes, at, top, f"forecast of {each.name}", FORECAST)
            break
    start = datetime.fromtimestamp(scenario.range.start_unix_seconds, UTC)
    scored = datetime.fromtimestamp(scenario.range.scored_from_unix_seconds, UTC)
    if scored > start:
        axes.axvspan(start, scored, color=LIMITS.light, alpha=0.15, linewidth=0)
        axes.annotate(
            "not scored",
            (start, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -12),
            textcoords="offset points",
            color=LIMITS.light,
            fontsize="small",
        )
    axes.set_ylabel(model.column)


def _replicas(request: Request, played: Sequence[Played]) -> bytes:
    """A panel for each policy: what the load demands as an area, what was ready as a line, and what was missing."""
    first = request.start_ups[0]
    shown = [
        each for each in played if each.name != ORACLE and each.start_up_seconds in (0.0, first)
    ]

    def draw(panels: Sequence[Axes]) -> None:
        for axes, each in zip(panels, shown, strict=True):
            _panel(axes, request, each)
        moments, demand = thinned(shown[0].times, _demand(request, shown[0]))
        _, ready = thinned(shown[0].times, [float(count) for count in shown[0].ready])
        # The names stand once, and not upon each other.
        apart = max(panels[0].get_ylim()[1] * 0.18, abs(demand[-1] - ready[-1]))
        low, high = sorted(
            (("demand", demand[-1], DEMAND), ("ready", ready[-1], CURRENT)), key=lambda n: n[1]
        )
        _label(panels[0], moments[-1], low[1], low[0], low[2])
        _label(panels[0], moments[-1], low[1] + apart, high[0], high[2])
        _label(panels[0], moments[-1], low[1] + 2 * apart, "too few", PROBLEM)

    height = AXIS_INCHES + PANEL_INCHES * len(shown)
    return _picture(draw, panels=len(shown), size_inches=(SIZE_INCHES[0], height))


def _panel(axes: Axes, request: Request, played: Played) -> None:
    needed = _demand(request, played)
    moments, demand = thinned(played.times, needed)
    _, ready = thinned(played.times, [float(count) for count in played.ready])
    # What was missing is that of one time, not the highest of both in a while.
    _, short = thinned(
        played.times, [max(0.0, n - r) for n, r in zip(needed, played.ready, strict=True)]
    )
    axes.fill_between(moments, demand, color=DEMAND.light, alpha=0.28, step="post", linewidth=0)
    axes.plot(moments, ready, color=CURRENT.light, linewidth=1.0, drawstyle="steps-post")
    top = [r + s for r, s in zip(ready, short, strict=True)]
    axes.fill_between(moments, ready, top, color=PROBLEM.light, step="post", linewidth=0.8)
    axes.set_title(played.name, loc="left", fontsize="medium")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("replicas", fontsize="small")


def _demand(request: Request, played: Played) -> list[float]:
    return [float(demanded(request.scenario.models, now) or 0) for now in played.times]


def _frontier(axes: Axes, request: Request, report: Report, frontier: Frontier) -> None:
    for (name, points), colour in zip(frontier.items(), itertools.cycle(POLICIES), strict=False):
        scores = sorted((each.score.replica_hours, each.score.under_timeshare) for each in points)
        axes.plot(*zip(*scores, strict=True), marker="o", markersize=3, color=colour.light)
        _label(axes, *scores[0], f"{name}, other targets", colour)
    for each in report.results:
        if each.start_up_seconds not in (0.0, request.start_ups[0]):
            continue
        hours, short = each.score.replica_hours, each.score.under_timeshare
        axes.plot([hours], [short], "k+", markersize=8)
        axes.annotate(
            each.policy, (hours, short), fontsize="small", textcoords="offset points", xytext=(4, 4)
        )
    axes.set_xlabel("replica-hours")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("time short (%)")
