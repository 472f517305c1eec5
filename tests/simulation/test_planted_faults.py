"""Every invariant bites: a fault that is planted behind the journal's back is found."""

from collections.abc import Callable

import pytest

from tests.simulation.history_invariants import INVARIANTS
from tests.simulation.simulate import simulate
from tests.simulation.tampering import PLANTED, Tamper

SEEDS_MAX = 40


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Callable[[], Tamper]) -> None:
    wanted = plant().invariant
    assert any(
        wanted in {violation.invariant for violation in simulate(seed, tamper=plant()).violations}
        for seed in range(SEEDS_MAX)
    )


def test_every_invariant_has_a_planted_fault() -> None:
    known = {invariant.__name__.replace("_", " ") for invariant in INVARIANTS}
    assert known == {plant().invariant for plant in PLANTED}
