"""The pictures of a backtest as PNG: load, replicas, and the frontier of cost and time short. Needs matplotlib."""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubectl_loadline.backtest.comparison import (
    Played,
    Result,
    demanded,
    play,
    results,
    scaled_targets,
)
from kubectl_loadline.backtest.report import Report, Request
from kubectl_loadline.libraries import require
from kubectl_loadline.terminal.progress import Progress

# The targets of the frontier, as shares of the given ones.
FACTORS = (0.7, 0.85, 1.0, 1.1, 1.2)
POINTS_MAX = 1500
SIZE_INCHES = (12, 4.5)

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
        "load": _picture(lambda axes: _load(axes, request, played)),
        "replicas": _picture(lambda axes: _replicas(axes, request, played)),
        "frontier": _picture(lambda axes: _frontier(axes, request, report, frontier)),
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


def _picture(draw: Callable[[Axes], None]) -> bytes:
    figure = require("matplotlib.figure").Figure(figsize=SIZE_INCHES, dpi=100, layout="constrained")
    require("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw(axes)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="best", fontsize="small")
    written = io.BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue()


def _load(axes: Axes, request: Request, played: Sequence[Played]) -> None:
    scenario = request.scenario
    model = scenario.models.main()
    times = list(scenario.range.times())
    loads = [math.nan if (load := model.load.at(now)) is None else load for now in times]
    axes.plot(*thinned(times, loads), color="black", linewidth=0.8, label=f"load ({model.column})")
    for each in played:
        if any(not math.isnan(bound) for bound in each.bounds):
            moments, bounds = thinned(each.times, each.bounds)
            _, below = thinned(each.times, [model.load.at(now) or 0.0 for now in each.times])
            axes.fill_between(moments, below, bounds, alpha=0.3, color="tab:blue")
            axes.plot(
                moments, bounds, linewidth=0.8, color="tab:blue", label=f"forecast, {each.name}"
            )
            break
    axes.axvspan(
        datetime.fromtimestamp(scenario.range.start_unix_seconds, UTC),
        datetime.fromtimestamp(scenario.range.scored_from_unix_seconds, UTC),
        color="gray",
        alpha=0.15,
        label="not scored",
    )
    axes.set_ylabel(model.column)


def _replicas(axes: Axes, request: Request, played: Sequence[Played]) -> None:
    scenario, first = request.scenario, request.start_ups[0]
    present = next(
        each
        for each in played
        if each.name == request.policies[0].name and each.start_up_seconds == first
    )
    needed = [float(demanded(scenario.models, now) or 0) for now in present.times]
    axes.plot(*thinned(present.times, needed), color="black", linewidth=0.8, label="demanded")
    for each in played:
        if each.name != "oracle" and each.start_up_seconds in (0.0, first):
            ready = [float(count) for count in each.ready]
            axes.plot(*thinned(each.times, ready), linewidth=0.8, label=f"ready, {each.name}")
    short = [
        float(n) if n > ready else math.nan for n, ready in zip(needed, present.ready, strict=True)
    ]
    axes.plot(*thinned(present.times, short), "r.", markersize=2, label="present spec is short")
    axes.set_ylabel("replicas")


def _frontier(axes: Axes, request: Request, report: Report, frontier: Frontier) -> None:
    for name, points in frontier.items():
        scores = sorted((each.score.replica_hours, each.score.under_timeshare) for each in points)
        axes.plot(
            *zip(*scores, strict=True), marker="o", markersize=3, label=f"{name}, other targets"
        )
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
