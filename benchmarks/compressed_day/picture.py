"""The picture: replicas needed and ready, what the forecast added, and when it was suspended."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from benchmarks.compressed_day.outcome import Sample, at
from kubectl_loadline.colours import CURRENT, DEMAND, FORECAST, PROBLEM

Axes = Any  # not typed by matplotlib's stubs
NEEDED, WITH, WITHOUT, SUSPENDED = (each.light for each in (DEMAND, FORECAST, CURRENT, PROBLEM))
MANY_HOURS = 12
SECONDS_PER_HOUR = 3600


def draw(samples: Sequence[Sample], path: Path) -> None:
    """Write a PNG."""
    figure = Figure(figsize=(11, 6.2), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    replicas, added = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    hours = [_hour(each) for each in samples]
    needed = [each.needed for each in samples]
    replicas.fill_between(
        hours, needed, color=NEEDED, alpha=0.28, lw=0, label="demand", step="post"
    )
    for color, label, ready in (
        (WITHOUT, "ready without a forecast", [each.without_forecast.ready for each in samples]),
        (WITH, "ready with a forecast", [each.with_forecast.ready for each in samples]),
    ):
        replicas.plot(hours, ready, color=color, lw=1.2, label=label, drawstyle="steps-post")
    replicas.set_ylabel("replicas")
    acts = [each.added if each.reason == "Reliable" else 0 for each in samples]
    added.fill_between(hours, acts, color=WITH, step="post", lw=0)
    added.set_ylabel("added by\nthe forecast")
    for since, until in _suspended(samples):
        for axes in (replicas, added):
            axes.axvspan(since, until, color=SUSPENDED, alpha=0.15, lw=0, label="suspended")
    for axes in (replicas, added):
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
        axes.spines[["top", "right"]].set_visible(False)
    _name_hours(added, 3 if hours[-1] - hours[0] > MANY_HOURS else 1)
    # Each time that it was suspended has the same label.
    handles, labels = replicas.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    replicas.legend(
        named.values(),
        named.keys(),
        loc="upper left",
        ncols=4,
        frameon=False,
        bbox_to_anchor=(0, 1.1),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")


def _name_hours(axes: Axes, every: int) -> None:
    axes.xaxis.set_major_locator(MultipleLocator(every))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda hour, _: at(hour * SECONDS_PER_HOUR).replace(" ", "\n"))
    )


def _hour(sample: Sample) -> float:
    return sample.unix_seconds / SECONDS_PER_HOUR


def _suspended(samples: Sequence[Sample]) -> Iterator[tuple[float, float]]:
    """In hours: from the first sample with another reason to the first one without."""
    since: Sample | None = None
    for each in samples:
        if each.reason in ("Reliable", ""):
            if since is not None:
                yield _hour(since), _hour(each)
            since = None
        elif since is None:
            since = each
    if since is not None:
        yield _hour(since), _hour(samples[-1])
