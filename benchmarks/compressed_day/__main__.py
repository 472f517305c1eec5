"""The command."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.compressed_day.learned_days import learned_days
from benchmarks.compressed_day.outcome import (
    Delays,
    Times,
    at,
    delays_of,
    failures,
    outcome_of,
    table,
)
from benchmarks.compressed_day.played_load import SHAPES, Timetable, played, synthetic_trace
from benchmarks.compressed_day.programs import started
from benchmarks.compressed_day.recording import record
from benchmarks.forecast import recorded

DELAY_METRIC = "loadline_scaler_reconcile_delay_seconds"


def main() -> int:
    """Returns the exit code: 1 if the forecast or the programs did not do what they must."""
    given = _arguments()
    trace = synthetic_trace(given.load) if given.trace is None else recorded(given.trace)
    timetable = Timetable(
        begins=given.begin, normal=given.normal, shifted=given.shifted, returned=given.returned
    )
    load = played(trace, timetable)
    learned = learned_days(load, given.start_up)
    if learned.reason != "Reliable":
        print(f"After the days before, the forecast may not act: {learned.reason}.")
        return 1
    directory = given.directory or Path(tempfile.mkdtemp(prefix="loadline-day-"))
    minutes = (load.ends - load.begins) / given.speed / 60
    print(f"{at(load.begins)} to {at(load.ends)} take {minutes:.1f} minutes; logs: {directory}")
    print(f"The load falls to a third at {at(load.shifts)} and returns at {at(load.returns)}.")
    with started(
        load, learned, speed=given.speed, start_up_seconds=given.start_up, directory=directory
    ) as running:
        samples, events = asyncio.run(record(running, load, print))
        delays = _delays(running.scaler_metrics())
    (directory / "recorded.json").write_bytes(msgspec.json.encode([samples, events]))
    for event in events:
        print(f"{at(event.unix_seconds)}  {event.reason}: {event.message}")
    times = Times(shifts=load.shifts, returns=load.returns, ends=load.ends)
    outcome = outcome_of(samples, times, delays)
    print(f"\n{table(outcome)}")
    if given.picture is not None:
        # Imported here: without a picture, matplotlib is not needed.
        from benchmarks.compressed_day.picture import draw

        draw(samples, given.picture)
        print(f"Picture: {given.picture}")
    found = failures(outcome)
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compressed_day")
    add = parser.add_argument
    add("--trace", type=Path, help="CSV file: Unix seconds, load (default: a synthetic load)")
    add("--load", choices=tuple(SHAPES), default="daily", help="the synthetic load (default daily)")
    add("--speed", type=float, default=240.0, help="compressed seconds per second (default 240)")
    add("--start-up", type=float, default=180.0, help="of a pod, in seconds (default 180)")
    add("--begin", type=float, default=0.0, help="hour of the ninth day to begin (default 0)")
    add("--normal", type=float, default=34.0, help="hours of normal load (default 34)")
    add("--shifted", type=float, default=4.0, help="hours of a third of the load (default 4)")
    add("--returned", type=float, default=4.0, help="hours after its return (default 4)")
    add("--picture", type=Path, help="write a picture (PNG)")
    add("--directory", type=Path, help="for the logs (default: a temporary directory)")
    given = parser.parse_args()
    if given.trace is not None and not given.trace.is_file():
        parser.error(f"--trace: {given.trace} is not a file")
    return given


def _delays(text: str) -> Delays:
    buckets, total_seconds = [], 0.0
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == f"{DELAY_METRIC}_bucket":
                buckets.append((float(sample.labels["le"]), sample.value))
            if sample.name == f"{DELAY_METRIC}_sum":
                total_seconds = sample.value
    return delays_of(buckets, total_seconds)


if __name__ == "__main__":
    sys.exit(main())
