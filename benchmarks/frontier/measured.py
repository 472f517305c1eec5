"""One load with one start-up time: what each policy costs with each of its knobs, and how long it is short, day by day.

The file of results has one line of JSON for each, so that files of several runs can be joined.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks.frontier.plain_replay import Counts
from benchmarks.frontier.shapes import Shape
from kubectl_loadline.backtest.hull import CostPoint
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY


class Day(msgspec.Struct, frozen=True, array_like=True):
    """The scored minutes of a day, those of them with fewer ready replicas than needed, and the replica-minutes."""

    minutes: int
    short_minutes: int
    replica_minutes: int


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One policy with one set of knobs. The last two are in percent, and only of a forecast that has been replayed."""

    policy: str
    target: float
    knob: str = ""
    days: tuple[Day, ...]
    reliable_percent: float | None = None
    waste_percent_max: float | None = None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """All points of a load. Their days are the same."""

    load: str
    shape: Shape
    start_up_minutes: int
    points: tuple[Point, ...]


def days_of(counts: Counts, demands: Sequence[int | None], scored_from: int) -> tuple[Day, ...]:
    """Minutes without a known load do not count, and neither do those before `scored_from`."""
    days = []
    for begin in range(scored_from, len(demands), MINUTES_PER_DAY):
        day = slice(begin, begin + MINUTES_PER_DAY)
        minutes = short = replicas = 0
        for needed, ready, requested in zip(
            demands[day], counts.ready[day], counts.requested[day], strict=True
        ):
            if needed is not None:
                minutes += 1
                short += ready < needed
                replicas += requested
        if minutes:
            days.append(Day(minutes, short, replicas))
    return tuple(days)


def cost_point(days: Sequence[Day], weights: Sequence[int] | None = None) -> CostPoint:
    """Replica-hours and the percentage of the time short; `weights` says how often each day counts."""
    times = weights or [1] * len(days)
    minutes = sum([each.minutes * count for each, count in zip(days, times, strict=True)])
    short = sum([each.short_minutes * count for each, count in zip(days, times, strict=True)])
    replicas = sum([each.replica_minutes * count for each, count in zip(days, times, strict=True)])
    return replicas / 60, 100.0 * short / minutes


def read(files: Iterable[Path]) -> list[Measured]:
    """All lines. Of two for the same load and start-up, the last one."""
    lines = [line for file in files for line in file.read_bytes().splitlines() if line]
    found = [msgspec.json.decode(line, type=Measured) for line in lines]
    return list({(each.load, each.start_up_minutes): each for each in found}.values())


def append(file: Path, measured: Measured) -> None:
    """One line more."""
    with file.open("ab") as lines:
        lines.write(msgspec.json.encode(measured) + b"\n")
