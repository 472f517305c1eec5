"""Scenarios whose autoscalers are HPAs, with their memories in ScalingMemory objects."""

import random
from collections.abc import Sequence

import msgspec

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from tests.simulation.faults import FIRST_FAULT_SECONDS, Fault
from tests.simulation.faults import made_from as faults_of
from tests.simulation.scenario import Scenario, made_from
from tests.simulation.shard_scenarios import with_shards


def with_hpas(seed: int) -> Scenario:
    """The scenario of a seed with HPAs instead of LoadAutoscalers."""
    return msgspec.structs.replace(made_from(seed), kind=HORIZONTAL_POD_AUTOSCALERS)


def with_hpas_and_shards(seed: int) -> Scenario:
    """The same of three replicas that share the namespaces."""
    return msgspec.structs.replace(with_shards(seed), kind=HORIZONTAL_POD_AUTOSCALERS)


def faults_with_hpas(scenario: Scenario, theme: Sequence[str] = ()) -> tuple[Fault, ...]:
    """The faults of the seed, and up to four of the stored memories."""
    rng = random.Random(f"memories {scenario.seed}")
    found = [*faults_of(scenario, theme)]
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        at = rng.uniform(FIRST_FAULT_SECONDS, scenario.calm_at * 0.9)
        where = rng.choice(scenario.autoscalers).key
        how = rng.choice(("deleted", "damaged", "lost", "conflict", "error", "hang", "slow"))
        if how in ("deleted", "damaged"):
            found.append(Fault(kind="memories", at=at, where=where, how=how))
            continue
        seconds = min(rng.choice((5.0, 20.0, 90.0, 300.0)), scenario.calm_at - at)
        fault = Fault(
            kind="writes", at=at, seconds=seconds, where="scalingmemories", how=how,
            share=rng.choice((0.3, 1.0)), amount=5.0,
        )  # fmt: skip
        found.append(fault)
    found += _unreadable(scenario, found)
    return tuple(sorted(found, key=lambda fault: fault.at))


def _unreadable(scenario: Scenario, faults: Sequence[Fault]) -> list[Fault]:
    """In some seeds the memories cannot be read when another process needs them."""
    rng = random.Random(f"unreadable memories {scenario.seed}")
    ends = [each for each in faults if each.kind in ("kill", "terminate")]
    if not ends or rng.random() < 0.5:
        return []
    at = max(FIRST_FAULT_SECONDS, rng.choice(ends).at - 5.0)
    seconds = min(rng.choice((10.0, 30.0, 90.0, 300.0)), scenario.calm_at - at)
    how = rng.choice(("error", "hang", "cut"))
    return [Fault(kind="reads", at=at, seconds=seconds, where="scalingmemories", how=how)]
