"""`python -m tests.simulation`: run seeds, or replay one with a trace."""

import argparse
import collections
import concurrent.futures
import functools
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from testbed.soak.regressions import Regression, record, today
from tests.simulation import large
from tests.simulation.adapter_scenarios import faults_with_adapter, with_adapter, with_streams
from tests.simulation.added_faults import ADDED, with_added
from tests.simulation.date_scenarios import with_dates
from tests.simulation.faults import Fault
from tests.simulation.faults import made_from as faults_of
from tests.simulation.field_scenarios import faults_with_fields, with_fields
from tests.simulation.hash_seed import fix_hash_seed
from tests.simulation.memory_scenarios import (
    faults_with_hpas,
    with_hpas,
    with_hpas_and_shards,
)
from tests.simulation.scenario import Scenario
from tests.simulation.scenario import made_from as scenario_of
from tests.simulation.shard_scenarios import with_shards
from tests.simulation.simulate import Verdict, shrunk, simulate
from wire.kube.kubeconfig_library import kubeconfig_library

SECONDS_PER_HOUR = 3600
PROGRESS_SEEDS = 100
FLAGS = {
    "adapter": "the adapter serves the metrics, from a model of Prometheus",
    "streams": "with --adapter: it streams them",
    "fields": "the autoscalers have additional fields",
    "dates": "additional fields and schedules in local time, often when clocks change or a year ends",
    "hpas": "the autoscalers are HPAs, whose memories are stored in ScalingMemory objects",
    "shards": "three replicas share the namespaces",
    "restores": "etcd is restored from a backup, too",
    "balancer": "one of two API servers is behind, too",
    "schemas": "the CRDs are deleted, or a schema prunes or rejects a field of the status, too",
    "samples": "samples are lost, and counters are reset, too",
}
SCENARIOS: dict[str, Callable[[int], Scenario]] = {
    "": scenario_of,
    "adapter": with_adapter,
    "adapter streams": with_streams,
    "fields": with_fields,
    "dates": with_dates,
    "shards": with_shards,
    "hpas": with_hpas,
    "hpas shards": with_hpas_and_shards,
}
"""By the flags that choose them."""

FAULTS: dict[str, Callable[[Scenario], tuple[Fault, ...]]] = {
    "adapter": faults_with_adapter,
    "adapter streams": faults_with_adapter,
    "fields": faults_with_fields,
    "dates": faults_with_fields,
    "hpas": faults_with_hpas,
    "hpas shards": faults_with_hpas,
}
"""Those with faults of their own."""

WITHOUT_ADDED = ("adapter", "adapter streams", "fields", "dates")


def scenario_for(flags: str, seed: int) -> Scenario:
    """That of these flags, some of which choose the scenario and others add faults. Raises KeyError."""
    scenario, added = SCENARIOS[_chosen_by(flags)](seed), added_by(flags)
    return msgspec.structs.replace(scenario, added_faults=added) if added else scenario


def added_by(flags: str) -> tuple[str, ...]:
    """The flags among these that add faults."""
    return tuple(each for each in flags.split() if each in ADDED)


def _chosen_by(flags: str) -> str:
    return " ".join(each for each in flags.split() if each not in ADDED)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What of a seed travels between processes."""

    seed: int
    simulated_seconds: float
    violations: tuple[str, ...]
    invariants: tuple[str, ...]
    faults: str = ""  # the numbers of those that it takes to fail


def main(arguments: Sequence[str]) -> int:
    """Returns 1 when a seed broke an invariant."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "--seeds",
        type=seed_range,
        default="0..100",
        help="FROM..TO, the last one not included (%(default)s)",
    )
    parser.add_argument("--seed", type=int, help="run this one alone and print its trace")
    parser.add_argument("--faults", help="with --seed: only these of its faults, by number: 0,3")
    parser.add_argument(
        "--processes", type=int, default=1, help="how many run at once (%(default)s)"
    )
    for flag, meaning in FLAGS.items():
        parser.add_argument(f"--{flag}", action="store_true", help=meaning)
    parser.add_argument(
        "--record", action="store_true",
        help="with --seeds: record failing seeds, so that `make test` runs them, too",
    )  # fmt: skip
    parser.add_argument(
        "--large", action="store_true",
        help="measure one scenario: three replicas share --objects autoscalers and are killed in turn",
    )  # fmt: skip
    parser.add_argument(
        "--objects", type=int, default=large.OBJECTS, help="with --large (%(default)s)"
    )
    given = parser.parse_args(arguments)
    if given.large:
        return run_large(given.objects, seed=given.seed or 0)
    chosen = " ".join(flag for flag in FLAGS if getattr(given, flag))
    if _chosen_by(chosen) not in SCENARIOS:
        parser.error(
            "only --hpas and --shards, --adapter and --streams, and flags that add faults can be combined"
        )
    if added_by(chosen) and _chosen_by(chosen) in WITHOUT_ADDED:
        parser.error(
            "--adapter, --fields and --dates cannot be combined with flags that add faults"
        )
    if given.seed is not None:
        return replay(given.seed, given.faults, scenarios=chosen)
    return run_all(given.seeds, given.processes, scenarios=chosen, is_recorded=given.record)


def seed_range(text: str) -> range:
    """Seeds written as `FROM..TO`. Raises ArgumentTypeError."""
    first, _, last = text.partition("..")
    if not (first.isdigit() and last.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not FROM..TO, for example 0..100")
    return range(int(first), int(last))


def run_large(objects: int, *, seed: int) -> int:
    """Print what was measured."""
    started = time.monotonic()
    found = large.run(large.scenario(objects, seed=seed))
    print("\n".join(large.described(found)))
    print(f"took {time.monotonic() - started:.0f} s")
    return 1 if large.problems(found) else 0


def replay(seed: int, chosen: str | None, *, scenarios: str) -> int:
    """Print everything that happens."""
    verdict = simulated(seed, chosen, scenarios=scenarios, trace=True)
    for line in verdict.journal.trace or ():
        print(line)
    for violation in verdict.violations:
        print(f"VIOLATED {violation}")
    return 1 if verdict.violations else 0


def simulated(
    seed: int, chosen: str | None = None, *, scenarios: str, trace: bool = False
) -> Verdict:
    """A seed with the scenario of a flag, and all of its faults or some by number."""
    scenario = scenario_for(scenarios, seed)
    every = with_added(scenario, FAULTS.get(_chosen_by(scenarios), faults_of)(scenario))
    if chosen is not None:
        every = tuple(every[int(number)] for number in chosen.split(",") if number)
    return simulate(seed, every, scenario=scenario, trace=trace)


def run_all(seeds: range, processes: int, *, scenarios: str, is_recorded: bool = False) -> int:
    """Run them, and print each failing one with the schedule that it takes."""
    started, simulated, failed = time.monotonic(), 0.0, 0
    broken: collections.Counter[str] = collections.Counter()
    for outcome in _outcomes(seeds, processes, scenarios=scenarios):
        simulated += outcome.simulated_seconds
        if outcome.seed % PROGRESS_SEEDS == 0:
            print(f"seed {outcome.seed}: {failed} failed so far", file=sys.stderr, flush=True)
        broken.update(set(outcome.invariants))
        if outcome.violations:
            failed += 1
            if is_recorded:
                record(regression(outcome, scenarios))
            print("\n".join(outcome.violations), flush=True)
    took = time.monotonic() - started
    hours = simulated / SECONDS_PER_HOUR
    print(
        f"{len(seeds)} seeds, {hours:.0f} simulated hours in {took:.0f} s ({hours / took:.2f} h/s): {failed} failed"
    )
    for invariant, count in broken.most_common():
        print(f"  {invariant}: {count} seeds")
    return 1 if failed else 0


def flags_of(scenarios: str) -> str:
    """The flags that choose these scenarios, each after a space."""
    return "".join(f" --{each}" for each in scenarios.split())


def regression(outcome: Outcome, scenarios: str) -> Regression:
    """A failing seed, to be repeated by `make test`."""
    return Regression(
        source=f"simulation{flags_of(scenarios)}",
        case=str(outcome.seed),
        finding=outcome.invariants[0],
        date=today(),
        faults=outcome.faults,
    )


def _outcomes(seeds: range, processes: int, *, scenarios: str) -> Iterator[Outcome]:
    outcome = functools.partial(outcome_of, scenarios=scenarios)
    _load()
    if processes == 1:
        yield from map(outcome, seeds)
        return
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        yield from pool.map(outcome, seeds)


def _load() -> None:
    """Import what the first seed would, for all processes, and exempt it from each garbage collection."""
    kubeconfig_library()
    gc.collect()
    gc.freeze()


def outcome_of(seed: int, *, scenarios: str) -> Outcome:
    """Run one seed; a failing one is made small first."""
    verdict = simulated(seed, scenarios=scenarios)
    lines: tuple[str, ...] = ()
    faults = ""
    if verdict.violations:
        small = shrunk(verdict)
        faults = numbers_of(verdict, small)
        lines = tuple(described(verdict, small))
    return Outcome(
        seed=seed,
        simulated_seconds=verdict.scenario.end,
        violations=lines,
        invariants=tuple(each.invariant for each in verdict.violations),
        faults=faults,
    )


def numbers_of(verdict: Verdict, small: Verdict) -> str:
    """Of the faults of a seed that it takes."""
    return ",".join(str(verdict.faults.index(fault)) for fault in small.faults)


def described(verdict: Verdict, small: Verdict) -> Iterator[str]:
    """A failing seed and the faults that it takes, for the developer."""
    seed, numbers = verdict.scenario.seed, numbers_of(verdict, small)
    added = " ".join(verdict.scenario.added_faults)
    flag = next(
        flags_of(flags)
        for flags in (f"{name} {added}" for name in SCENARIOS)
        if scenario_for(flags, seed) == verdict.scenario
    )
    yield f"seed {seed} fails: python -m tests.simulation --seed {seed}{flag} --faults '{numbers}'"
    yield from (f"    {fault}" for fault in small.faults)
    yield from (f"    VIOLATED {violation}" for violation in small.violations[:5])


if __name__ == "__main__":
    fix_hash_seed("tests.simulation")
    sys.exit(main(sys.argv[1:]))
