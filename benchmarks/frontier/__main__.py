"""The command: measure loads into a file, or show what files have."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.forecast import TARGET
from benchmarks.frontier.measured import Measured, append, read
from benchmarks.frontier.measuring import measured_loads
from benchmarks.frontier.replays import FORECAST_TARGETS
from benchmarks.frontier.tables import judged, tables

PROCESSES_MAX = 2
DRAWN_LOADS = 6


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, then print the tables of all files. Exit code 1 without any result."""
    given = _arguments(arguments)
    if given.traces is not None:
        _measure(given, given.results[0])
    found = [judged(each) for each in read(each for each in given.results if each.exists())]
    if not found:
        print("The files have no results: give --traces DIRECTORY.", file=sys.stderr)
        return 1
    for line in tables(found):
        print(line)
    if given.pictures is not None:
        # Imported here: without pictures, matplotlib is not needed.
        from benchmarks.frontier.pictures import draw_frontiers, draw_winners

        draw_frontiers(
            _drawn([each.measured for each in found], given.draw),
            given.pictures / "forecast_frontier.png",
        )
        draw_winners(found, given.pictures / "forecast_winners.png")
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier")
    add = parser.add_argument
    add("--traces", type=Path, help="directory of recorded loads (CSV: Unix seconds, load)")
    add(
        "--results",
        type=Path,
        nargs="+",
        required=True,
        help="files of results; what is measured is added to the first",
    )
    add(
        "--only",
        nargs="+",
        default=[],
        metavar="LOAD",
        help="names of files without .csv (default: all)",
    )
    add("--start-ups", type=int, nargs="+", default=[2, 5], metavar="MINUTES")
    add(
        "--forecast-targets",
        type=float,
        nargs="+",
        default=list(FORECAST_TARGETS),
        metavar="SHARE",
        help="0.7 must be one",
    )
    add("--processes", type=int, default=1, choices=range(1, PROCESSES_MAX + 1))
    add("--pictures", type=Path, help="directory for the pictures")
    add(
        "--draw",
        nargs="+",
        default=[],
        metavar="LOAD",
        help="whose frontiers are drawn (default: some of each shape)",
    )
    given = parser.parse_args(arguments)
    if TARGET not in given.forecast_targets:
        parser.error(f"--forecast-targets must have {TARGET:g}, at which the policies are compared")
    if given.traces is not None and not any(given.traces.glob("*.csv")):
        parser.error(f"--traces: {given.traces} has no CSV files")
    return given


def _measure(given: argparse.Namespace, file: Path) -> None:
    known = {(each.load, each.start_up_minutes) for each in read([file] if file.exists() else [])}
    wanted = [
        (path, minutes)
        for path in sorted(given.traces.glob("*.csv"))
        for minutes in given.start_ups
        if (not given.only or path.stem in given.only) and (path.stem, minutes) not in known
    ]
    for each in measured_loads(wanted, given.forecast_targets, given.processes):
        if isinstance(each, str):
            print(f"left out: {each}", file=sys.stderr, flush=True)
            continue
        append(file, each)
        print(
            f"{each.load}, start-up {each.start_up_minutes} min: measured",
            file=sys.stderr,
            flush=True,
        )


def _drawn(found: Sequence[Measured], names: Sequence[str]) -> list[Measured]:
    """Of the shortest start-up time. Without names, as many of one shape as of another."""
    shortest = min(each.start_up_minutes for each in found)
    some = [each for each in found if each.start_up_minutes == shortest]
    if names:
        return [each for name in names for each in some if each.load == name]
    places = {
        each.load: sum(1 for other in some[:index] if other.shape.name == each.shape.name)
        for index, each in enumerate(some)
    }
    return sorted(some, key=lambda each: places[each.load])[:DRAWN_LOADS]


if __name__ == "__main__":
    sys.exit(main())
