"""`python -m tests.simulation`: run seeds, or replay one with a trace."""

import argparse
import collections
import concurrent.futures
import os
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec

from tests.simulation.faults import Fault
from tests.simulation.simulate import Verdict, shrunk, simulate

SECONDS_PER_HOUR = 3600
PROGRESS_SEEDS = 100


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What of a seed travels between processes."""

    seed: int
    simulated_seconds: float
    violations: tuple[str, ...]
    invariants: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Returns 1 when a seed broke an invariant."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "--seeds", default="0..100", help="FROM..TO, the last one not included (%(default)s)"
    )
    parser.add_argument("--seed", type=int, help="run this one alone and print its trace")
    parser.add_argument("--faults", help="with --seed: only these of its faults, by number: 0,3")
    parser.add_argument(
        "--processes", type=int, default=1, help="how many run at once (%(default)s)"
    )
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return replay(given.seed, given.faults)
    first, _, last = given.seeds.partition("..")
    return run_all(range(int(first), int(last)), given.processes)


def replay(seed: int, chosen: str | None) -> int:
    """Print everything that happens."""
    verdict = simulate(seed, _chosen(seed, chosen), trace=True)
    for line in verdict.journal.trace or ():
        print(line)
    for violation in verdict.violations:
        print(f"VIOLATED {violation}")
    return 1 if verdict.violations else 0


def _chosen(seed: int, chosen: str | None) -> list[Fault] | None:
    if chosen is None:
        return None
    from tests.simulation import faults, scenario

    every = faults.made_from(scenario.made_from(seed))
    return [every[int(number)] for number in chosen.split(",") if number]


def run_all(seeds: range, processes: int) -> int:
    """Run them, and print each failing one with the schedule that it takes."""
    started, simulated, failed = time.monotonic(), 0.0, 0
    broken: collections.Counter[str] = collections.Counter()
    for outcome in _outcomes(seeds, processes):
        simulated += outcome.simulated_seconds
        if outcome.seed % PROGRESS_SEEDS == 0:
            print(f"seed {outcome.seed}: {failed} failed so far", file=sys.stderr, flush=True)
        broken.update(set(outcome.invariants))
        if outcome.violations:
            failed += 1
            print("\n".join(outcome.violations), flush=True)
    took = time.monotonic() - started
    hours = simulated / SECONDS_PER_HOUR
    print(
        f"{len(seeds)} seeds, {hours:.0f} simulated hours in {took:.0f} s ({hours / took:.2f} h/s): {failed} failed"
    )
    for invariant, count in broken.most_common():
        print(f"  {invariant}: {count} seeds")
    return 1 if failed else 0


def _outcomes(seeds: range, processes: int) -> Iterator[Outcome]:
    if processes == 1:
        yield from map(outcome_of, seeds)
        return
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        yield from pool.map(outcome_of, seeds, chunksize=5)


def outcome_of(seed: int) -> Outcome:
    """Run one seed; a failing one is made small first."""
    verdict = simulate(seed)
    lines: tuple[str, ...] = ()
    if verdict.violations:
        lines = tuple(described(verdict))
    return Outcome(
        seed=seed,
        simulated_seconds=verdict.scenario.end,
        violations=lines,
        invariants=tuple(each.invariant for each in verdict.violations),
    )


def described(verdict: Verdict) -> Iterator[str]:
    """A failing seed and the faults that it takes, for the developer."""
    seed, small = verdict.scenario.seed, shrunk(verdict)
    numbers = ",".join(str(verdict.faults.index(fault)) for fault in small.faults)
    yield f"seed {seed} fails: python -m tests.simulation --seed {seed} --faults '{numbers}'"
    yield from (f"    {fault}" for fault in small.faults)
    yield from (f"    VIOLATED {violation}" for violation in small.violations[:5])


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of a set of texts must not depend on the day.
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main(sys.argv[1:]))
