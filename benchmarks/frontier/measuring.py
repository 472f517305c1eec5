"""Measures several loads, on one or more processors."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from benchmarks.forecast import recorded
from benchmarks.frontier.measured import Measured
from benchmarks.frontier.replays import measured

Wanted = tuple[Path, int]
"""A file of a load, and the start-up time in minutes."""


def measured_loads(
    wanted: Sequence[Wanted], targets: Sequence[float], processes: int
) -> Iterator[Measured | str]:
    """As they are done; of a load that cannot be measured, the reason."""
    if processes == 1:
        yield from (_measured(each, targets) for each in wanted)
        return
    # Spawned, because a fork of a process with threads may hang.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as executor:
        running = [executor.submit(_measured, each, targets) for each in wanted]
        yield from (each.result() for each in as_completed(running))


def _measured(wanted: Wanted, targets: Sequence[float]) -> Measured | str:
    path, start_up_minutes = wanted
    try:
        return measured(recorded(path), start_up_minutes, targets)
    except ValueError as error:
        return str(error)
