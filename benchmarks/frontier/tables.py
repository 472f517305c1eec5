"""The results as Markdown: each load in each table, also those on which the forecast does nothing."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from benchmarks.forecast import TARGET
from benchmarks.frontier.judged import (
    EXTRA_PERCENTS,
    Figures,
    Interval,
    figures,
    frontiers,
    intervals,
    winner,
)
from benchmarks.frontier.left_out import Changes, left_out
from benchmarks.frontier.measured import Measured, Point
from benchmarks.frontier.replays import DEFAULT, FORECAST, HPA, PERFECT, RIVALS
from benchmarks.frontier.shapes import SHAPES

CHANGE, AREA, POINTS = f"change_percent {FORECAST}", "area_percent", "area_points"
SHOWN_EXTRA_PERCENT = 5


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One load with one start-up time."""

    measured: Measured
    figures: Figures
    intervals: Mapping[str, Interval]

    @property
    def order(self) -> tuple[int, float]:
        """Loads of the same shape stand together, the worst first."""
        change = self.figures[CHANGE]
        return SHAPES.index(self.measured.shape.name), -change


def judged(measured: Measured) -> Judged:
    """With the intervals of what the tables show. Raises ValueError for a load without the point of the forecast that they need."""
    if not any(_is_usual(each) for each in measured.points):
        raise ValueError(f"{measured.load} has no point of the forecast with the target {TARGET:g}")
    return Judged(
        measured=measured,
        figures=figures(frontiers(measured.points)),
        intervals=intervals(measured, lambda name: name in (CHANGE, AREA, POINTS)),
    )


def tables(all_judged: Sequence[Judged]) -> Iterator[str]:
    """Every line."""
    for minutes in sorted({each.measured.start_up_minutes for each in all_judged}):
        of_start_up = [each for each in all_judged if each.measured.start_up_minutes == minutes]
        ordered = sorted(of_start_up, key=lambda each: each.order)
        yield f"## Start-up {minutes} min"
        yield ""
        yield from _by_load(ordered)
        yield ""
        yield from _at_more_cost(ordered)
        yield ""
        yield from _summaries(ordered)
        yield ""
    yield from _left_out(all_judged)


def _by_load(ordered: Sequence[Judged]) -> Iterator[str]:
    yield (
        "| load | shape | autocorrelation 1 d, 7 d | time short at equal replica-hours | with perfect knowledge | more replica-hours "
        "| frontier against all others | in points of the time | reliable | most waste in 24 h |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for each in ordered:
        shape, found = each.measured.shape, each.figures
        point = next(one for one in each.measured.points if _is_usual(one))
        cells = (
            each.measured.load,
            shape.name,
            f"{shape.daily:.2f}, {shape.weekly:.2f}",
            _with_interval(each, CHANGE, "%"),
            _change(found, PERFECT),
            f"{found[f'more_hours_percent {FORECAST}']:+.1f}%",
            _with_interval(each, AREA, "%"),
            _with_interval(each, POINTS, ""),
            f"{point.reliable_percent or 0.0:.0f}%",
            f"{point.waste_percent_max or 0.0:.1f}%",
        )
        yield f"| {' | '.join(cells)} |"


def _change(found: Figures, policy: str) -> str:
    """Files of earlier runs do not have each policy."""
    change = found.get(f"change_percent {policy}")
    return "-" if change is None else f"{change:+.0f}%"


def _is_usual(point: Point) -> bool:
    return (point.policy, point.knob, point.target) == (FORECAST, DEFAULT, TARGET)


def _with_interval(each: Judged, name: str, unit: str) -> str:
    found = each.intervals.get(name)
    if found is None:
        return "-"
    digits = 0 if unit else 2
    low, high = f"{found.low:+.{digits}f}", f"{found.high:+.{digits}f}"
    return f"{found.value:+.{digits}f}{unit} ({low} to {high})"


def _at_more_cost(ordered: Sequence[Judged]) -> Iterator[str]:
    """The forecast's, the HPA's, and the best rival's time short."""
    extras = " | ".join(f"+{each}%: forecast, HPA, best rival" for each in EXTRA_PERCENTS)
    yield f"| load | {extras} |"
    yield f"|---|{'---|' * len(EXTRA_PERCENTS)}"
    for each in ordered:
        cells = [_at_extra(each.figures, extra) for extra in EXTRA_PERCENTS]
        yield f"| {each.measured.load} | {' | '.join(cells)} |"


def _at_extra(found: Figures, extra: int) -> str:
    def short(policy: str) -> float | None:
        return found.get(f"short_percent +{extra} {policy}")

    rivals = [(value, name) for name in RIVALS if (value := short(name)) is not None]
    value, name = min(rivals, default=(None, "none"))
    text = "-" if value is None else f"{value:.2f} ({name.split(' ')[0]})"
    return f"{_percent(short(FORECAST))}, {_percent(short(HPA))}, {text}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _summaries(ordered: Sequence[Judged]) -> Iterator[str]:
    """Medians of all loads, and of those with a daily or weekly shape; how often which policy wins."""
    with_shape = [each for each in ordered if each.measured.shape.name in SHAPES[:2]]
    yield "| policy at 70% | loads | median | best | worst | worse by more than 1% | replica-hours, median |"
    yield "|---|---|---|---|---|---|---|"
    for policy in (*RIVALS, FORECAST, PERFECT):
        for name, some in (("all", ordered), ("daily or weekly", with_shape)):
            if some and all(f"change_percent {policy}" in each.figures for each in some):
                yield f"| {policy} | {name} ({len(some)}) | {_spread(some, policy)} |"
    yield ""
    at = f"+{SHOWN_EXTRA_PERCENT}%"
    yield f"| shape | loads | short least at {at} of the HPA's replica-hours |"
    yield "|---|---|---|"
    for shape in SHAPES:
        some = [each for each in ordered if each.measured.shape.name == shape]
        if some:
            winners = [winner(each.figures, SHOWN_EXTRA_PERCENT) for each in some]
            counts = ", ".join(
                f"{name} {winners.count(name)}"
                for name in sorted(set(winners), key=winners.count, reverse=True)
            )
            yield f"| {shape} | {len(some)} | {counts} |"


def _spread(some: Sequence[Judged], policy: str) -> str:
    changes = [each.figures[f"change_percent {policy}"] for each in some]
    hours = [each.figures[f"more_hours_percent {policy}"] for each in some]
    worse = sum(1 for each in changes if each > 1.0)
    return (
        f"{statistics.median(changes):+.0f}% | {min(changes):+.0f}% | {max(changes):+.0f}% | {worse} "
        f"| {statistics.median(hours):+.1f}%"
    )


def _left_out(all_judged: Sequence[Judged]) -> Iterator[str]:
    found = left_out(_changes_by_load(all_judged))
    if not found:
        return
    yield "## The knob, chosen on the other loads"
    yield ""
    yield "| load | chosen on the others | time short at equal replica-hours, by start-up |"
    yield "|---|---|---|"
    for each in found:
        changes = ", ".join(f"{change:+.0f}%" for change in each.changes)
        yield f"| {each.load} | {each.knob} | {changes} |"
    of_all = [change for each in found for change in each.changes]
    yield f"| **median, worst** | | {statistics.median(of_all):+.0f}%, {max(of_all):+.0f}% |"


def _changes_by_load(all_judged: Sequence[Judged]) -> Mapping[str, Changes]:
    """Of each knob at the usual target."""
    found: dict[str, dict[str, list[float]]] = {}
    for each in all_judged:
        of_load = found.setdefault(each.measured.load, {})
        for name, change in each.figures.items():
            knob = name.removeprefix("change_percent ")
            if knob != name and knob not in (*RIVALS, PERFECT):
                of_load.setdefault(DEFAULT if knob == FORECAST else knob, []).append(change)
    return found
