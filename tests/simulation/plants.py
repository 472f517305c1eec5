"""How often a planted fault is found: over many seeds, recorded, beside the same seeds without it.

`python -m tests.simulation.plants` records the rates again, `--turn` continues them. A fault that is planted in a proxy between the replicas and
the model stands for a defect of the scaler. What it breaks must be found in at least as many seeds as recorded, and the same
seeds must be without a violation when nothing is planted.
"""

import argparse
import concurrent.futures
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from tests.simulation.adapter_scenarios import faults_with_adapter, with_adapter, with_streams
from tests.simulation.adapter_tampering import PLANTED_BEHIND_THE_ADAPTER
from tests.simulation.added_faults import with_added
from tests.simulation.added_tampering import PLANTED_WITH_ADDED_FAULTS
from tests.simulation.date_scenarios import with_dates
from tests.simulation.date_tampering import PLANTED_IN_DATES
from tests.simulation.decision_tampering import PLANTED_IN_DECISIONS
from tests.simulation.faults import Fault
from tests.simulation.faults import made_from as faults_of
from tests.simulation.field_scenarios import faults_with_fields, with_fields
from tests.simulation.field_tampering import PLANTED_IN_FIELDS
from tests.simulation.hash_seed import fix_hash_seed
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
    + PLANTED_IN_FIELDS
    + PLANTED_IN_DATES
    + PLANTED_BEHIND_THE_ADAPTER
    + PLANTED_WITH_ADDED_FAULTS
)
RECORDED = Path(__file__).with_name("detection_rates.json")
SEEDS = 200
SEEDS_IN_A_TURN = 20


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How often a planted fault was found: in which of the seeds from 0 to `seeds`."""

    seeds: int
    found: tuple[int, ...]

    def replaced(self, seeds: range, found: Sequence[int]) -> "Rate":
        """With the results of these seeds, which are some of those that there are or follow them."""
        kept = [each for each in self.found if each not in seeds]
        return Rate(seeds=max(self.seeds, seeds.stop), found=tuple(sorted([*kept, *found])))


NOT_RUN = Rate(seeds=0, found=())


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One seed with a planted fault: whether it was found, and what is violated without it."""

    seed: int
    is_found: bool
    control: tuple[str, ...] = ()


def trial(seed: int, plant: Callable[[], Tamper]) -> Trial:
    """Run a seed with the planted fault, and if that is found, without it."""
    tamper = plant()
    scenario, faults = setting(seed, tamper)
    found = simulate(seed, faults, tamper=tamper, scenario=scenario).violations
    if tamper.invariant not in {each.invariant for each in found}:
        return Trial(seed=seed, is_found=False)
    return Trial(seed=seed, is_found=True, control=control(scenario, faults))


@cache
def control(scenario: Scenario, faults: tuple[Fault, ...]) -> tuple[str, ...]:
    """What is violated when nothing is planted: the same for all planted faults that are run with this scenario and these faults."""
    found = simulate(scenario.seed, faults, scenario=scenario).violations
    return tuple(map(str, found))


def setting(seed: int, tamper: Tamper) -> tuple[Scenario, tuple[Fault, ...]]:
    """The scenario and the faults that show what is planted."""
    if tamper.has_adapter:
        scenario = (with_streams if tamper.is_streamed else with_adapter)(seed)
        return scenario, faults_with_adapter(scenario)
    if tamper.has_hpas:
        scenario = with_hpas(seed)
        return scenario, faults_with_hpas(scenario, tamper.theme)
    if tamper.is_sharded:
        scenario = with_shards(seed)
        return scenario, faults_of(scenario, tamper.theme)
    if tamper.field == "dates":
        scenario = with_dates(seed)
        return scenario, faults_with_fields(scenario)
    if tamper.field:
        scenario = with_fields(seed, tamper.field)
        return scenario, tuple(each for each in faults_with_fields(scenario) if each.kind == "rollout")  # fmt: skip
    scenario = _measured_by(made_from(seed), tamper.groups)
    scenario = msgspec.structs.replace(scenario, added_faults=tamper.added)
    return scenario, with_added(scenario, faults_of(scenario, tamper.theme))


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
    parser.add_argument(
        "--turn", type=int, metavar="NUMBER",
        help=f"run {SEEDS_IN_A_TURN} more seeds of one with the fewest; if each has {SEEDS}, run {SEEDS_IN_A_TURN} of one again, by the number",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    rates = recorded() if RECORDED.exists() else {}
    chosen = [each for each in EVERY if not given.only or each.__name__ in given.only.split(",")]
    runs = [(plant, range(given.seeds)) for plant in chosen]
    if given.turn is not None:
        runs = [run_of_turn(given.turn, chosen, rates)]
    is_worse = False
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool:
        for plant, seeds in runs:
            name = plant.__name__
            before = rates.get(name, NOT_RUN)
            trials = list(pool.map(functools.partial(trial, plant=plant), seeds))
            kept = NOT_RUN if given.turn is None else before
            rates[name] = kept.replaced(seeds, [each.seed for each in trials if each.is_found])
            is_worse |= _is_worse(name, before, rates[name], trials)
            RECORDED.write_bytes(written(rates))
    if given.turn is not None:
        print(f"{runs[0][0].__name__} done; {seeds_left(EVERY, rates)} seeds are left of all")
    return 1 if is_worse else 0


def seeds_left(plants: Sequence[Callable[[], Tamper]], rates: Mapping[str, Rate]) -> int:
    """Until each planted fault has all its seeds."""
    return sum(SEEDS - min(SEEDS, _seeds_of(each, rates)) for each in plants)


def _seeds_of(plant: Callable[[], Tamper], rates: Mapping[str, Rate]) -> int:
    return rates[plant.__name__].seeds if plant.__name__ in rates else 0


def run_of_turn(
    number: int, plants: Sequence[Callable[[], Tamper]], rates: Mapping[str, Rate]
) -> tuple[Callable[[], Tamper], range]:
    """A planted fault and the seeds to run: first all get their seeds, then some of each are run again in its turn."""
    fewest = min(plants, key=lambda each: _seeds_of(each, rates))
    ran = _seeds_of(fewest, rates)
    if ran < SEEDS:
        return fewest, range(ran, min(ran + SEEDS_IN_A_TURN, SEEDS))
    rounds, index = divmod(number, len(plants))
    first = rounds * SEEDS_IN_A_TURN % ran
    return plants[index], range(first, min(first + SEEDS_IN_A_TURN, ran))


def _is_worse(name: str, before: Rate, after: Rate, trials: Sequence[Trial]) -> bool:
    """Print the rate. Whether fewer of the same seeds show the fault, or one has a violation without it."""
    again = [each for each in after.found if each < before.seeds]
    print(f"{name}: {len(after.found)} of {after.seeds}; ", end="")
    print(f"of the first {before.seeds}: {len(again)}, {len(before.found)} before", flush=True)
    broken = [f"seed {each.seed}: {each.control[0]}" for each in trials if each.control]
    for each in broken:
        print(f"  without it, {each}", flush=True)
    is_lost = len(again) < len([each for each in before.found if each < after.seeds])
    return bool(broken) or is_lost


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
