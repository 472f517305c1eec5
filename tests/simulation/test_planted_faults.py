"""Every invariant can fail: a fault that is planted between the replicas and the model is found, and only when it is planted."""

from collections.abc import Callable

import pytest

from tests.simulation.adapter_invariants import INVARIANTS
from tests.simulation.plants import EVERY, recorded, trial
from tests.simulation.tampering import Tamper

# `python -m tests.simulation.plants` runs all of the recorded seeds.
SAMPLE = 2


@pytest.mark.parametrize("plant", EVERY, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_where_it_was_found_before_and_only_if_it_is_planted(
    plant: Callable[[], Tamper],
) -> None:
    seeds = recorded()[plant.__name__].found[:SAMPLE]
    trials = [trial(seed, plant) for seed in seeds]
    assert [(each.seed, each.is_found, each.control) for each in trials] == [
        (seed, True, ()) for seed in seeds
    ]


@pytest.mark.parametrize("plant", EVERY, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_at_all(plant: Callable[[], Tamper]) -> None:
    assert len(recorded()[plant.__name__].found) >= 1


def test_every_invariant_has_a_planted_fault() -> None:
    known = {invariant.__name__.replace("_", " ") for invariant in INVARIANTS}
    assert known == {plant().invariant for plant in EVERY}
