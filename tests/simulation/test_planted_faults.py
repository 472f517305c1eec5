"""Every invariant bites: a fault that is planted behind the journal's back is found."""

from collections.abc import Callable

import pytest

from tests.simulation.decision_tampering import PLANTED_IN_DECISIONS
from tests.simulation.field_scenarios import faults_with_fields, with_fields
from tests.simulation.invariants import Violation
from tests.simulation.memory_scenarios import faults_with_hpas, with_hpas
from tests.simulation.memory_tampering import PLANTED_IN_MEMORIES
from tests.simulation.shard_scenarios import with_shards
from tests.simulation.simulate import simulate
from tests.simulation.tampering import PLANTED, Tamper
from tests.simulation.write_oracle import INVARIANTS

SEEDS_MAX = 40
EVERY = PLANTED + PLANTED_IN_MEMORIES + PLANTED_IN_DECISIONS


@pytest.mark.parametrize("plant", EVERY, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Callable[[], Tamper]) -> None:
    wanted = plant().invariant
    assert any(
        wanted in {violation.invariant for violation in _violations(seed, plant())}
        for seed in range(SEEDS_MAX)
    )


def _violations(seed: int, tamper: Tamper) -> tuple[Violation, ...]:
    if tamper.has_hpas:
        scenario = with_hpas(seed)
        faults = faults_with_hpas(scenario, tamper.theme)
        return simulate(seed, faults, tamper=tamper, scenario=scenario).violations
    if tamper.is_sharded:
        return simulate(seed, tamper=tamper, scenario=with_shards(seed)).violations
    if not tamper.field:
        return simulate(seed, tamper=tamper).violations
    scenario = with_fields(seed, tamper.field)
    faults = [each for each in faults_with_fields(scenario) if each.kind == "rollout"]
    return simulate(seed, faults, tamper=tamper, scenario=scenario).violations


def test_every_invariant_has_a_planted_fault() -> None:
    known = {invariant.__name__.replace("_", " ") for invariant in INVARIANTS}
    assert known == {plant().invariant for plant in EVERY}
