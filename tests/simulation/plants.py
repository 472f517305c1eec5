"""How often a planted fault is found: over many seeds, recorded, beside the same seeds without it.

`python -m tests.simulation.plants` records the rates again. A fault that is planted in a proxy between the replicas and
the model stands for a defect of the scaler. What it breaks must be found in at least as many seeds as recorded, and the same
seeds must be without a violation when nothing is planted.
"""

import argparse
import concurrent.futures
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from tests.simulation.adapter_scenarios import faults_with_adapter, with_adapter
from tests.simulation.adapter_tampering import PLANTED_BEHIND_THE_ADAPTER
from tests.simulation.date_scenarios import with_dates
from tests.simulation.date_tampering import PLANTED_IN_DATES
from tests.simulation.decision_tampering import PLANTED_IN_DECISIONS
from tests.simulation.faults import made_from as faults_of
from tests.simulation.field_scenarios import faults_with_fields, with_fields
from tests.simulation.hash_seed import fix_hash_seed
from tests.simulation.invariants import Violation
from tests.simulation.memory_scenarios import faults_with_hpas, with_hpas
from tests.simulation.memory_tampering import PLANTED_IN_MEMORIES
from tests.simulation.scenario import Scenario, made_from
from tests.simulation.shard_scenarios import with_shards
from tests.simulation.simulate import simulate
from tests.simulation.tampering import PLANTED, Tamper

EVERY: tuple[Callable[[], Tamper], ...] = (
    PLANTED
    + PLANTED_IN_MEMORIES
    + PLANTED_IN_DECISIONS
    + PLANTED_IN_DATES
    + PLANTED_BEHIND_THE_ADAPTER
)
RECORDED = Path(__file__).with_name("detection_rates.json")
SEEDS = 200


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How often a planted fault was found: in which of the seeds from 0 to `seeds`."""

    seeds: int
    found: tuple[int, ...]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One seed with a planted fault: whether it was found, and what is violated without it."""

    seed: int
    is_found: bool
    control: tuple[str, ...] = ()


def trial(seed: int, plant: Callable[[], Tamper]) -> Trial:
    """Run a seed with the planted fault, and if that is found, without it."""
    wanted = plant().invariant
    if wanted not in {each.invariant for each in violations(seed, plant())}:
        return Trial(seed=seed, is_found=False)
    without = violations(seed, plant(), is_planted=False)
    return Trial(seed=seed, is_found=True, control=tuple(map(str, without)))


def violations(seed: int, tamper: Tamper, *, is_planted: bool = True) -> tuple[Violation, ...]:
    """Of a seed with the scenario and the faults that show what is planted."""
    planted = tamper if is_planted else None
    if tamper.has_adapter:
        scenario = with_adapter(seed)
        faults = faults_with_adapter(scenario)
    elif tamper.has_hpas:
        scenario = with_hpas(seed)
        faults = faults_with_hpas(scenario, tamper.theme)
    elif tamper.is_sharded:
        scenario = with_shards(seed)
        faults = faults_of(scenario, tamper.theme)
    elif tamper.field == "dates":
        scenario = with_dates(seed)
        faults = faults_with_fields(scenario)
    elif tamper.field:
        scenario = with_fields(seed, tamper.field)
        faults = tuple(each for each in faults_with_fields(scenario) if each.kind == "rollout")
    else:
        scenario = _measured_by(made_from(seed), tamper.groups)
        faults = faults_of(scenario, tamper.theme)
    return simulate(seed, faults, tamper=planted, scenario=scenario).violations


def _measured_by(scenario: Scenario, groups: tuple[str, ...]) -> Scenario:
    if not groups:
        return scenario
    autoscalers = tuple(
        msgspec.structs.replace(
            each, groups=groups, up=None, down=None, min_replicas=max(1, each.min_replicas)
        )
        for each in scenario.autoscalers
    )
    return msgspec.structs.replace(scenario, autoscalers=autoscalers)


def recorded() -> dict[str, Rate]:
    """What is in the repository, by the name of the planted fault."""
    return msgspec.json.decode(RECORDED.read_bytes(), type=dict[str, Rate])


def main(arguments: Sequence[str]) -> int:
    """Record the rates. Returns 1 if one fell, or a seed without a planted fault has a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.plants", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many (%(default)s)")
    parser.add_argument("--only", default="", help="names of planted faults, separated by commas")
    parser.add_argument(
        "--processes", type=int, default=1, help="how many run at once (%(default)s)"
    )
    given = parser.parse_args(arguments)
    rates = recorded() if RECORDED.exists() else {}
    is_worse = False
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool:
        for plant in EVERY:
            name = plant.__name__
            if given.only and name not in given.only.split(","):
                continue
            trials = list(pool.map(functools.partial(trial, plant=plant), range(given.seeds)))
            found = tuple(each.seed for each in trials if each.is_found)
            broken = [f"seed {each.seed}: {each.control[0]}" for each in trials if each.control]
            before = (
                [each for each in rates[name].found if each < given.seeds] if name in rates else []
            )
            is_worse = is_worse or bool(broken) or len(found) < len(before)
            print(f"{name}: {len(found)} of {given.seeds}, {len(before)} before", flush=True)
            for each in broken:
                print(f"  without it, {each}", flush=True)
            rates[name] = Rate(seeds=given.seeds, found=found)
            RECORDED.write_bytes(written(rates))
    return 1 if is_worse else 0


def written(rates: Mapping[str, Rate]) -> bytes:
    """As it is in the repository: a line for each planted fault."""
    lines = (
        b"  %b: %b" % (msgspec.json.encode(name), msgspec.json.encode(rate))
        for name, rate in sorted(rates.items())
    )
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


if __name__ == "__main__":
    fix_hash_seed("tests.simulation.plants")
    sys.exit(main(sys.argv[1:]))
