"""Every invariant can fail: a fault that is planted between the replicas and the model is found, and only when it is planted."""

from collections.abc import Callable

import pytest

from tests.simulation.added_tampering import AddsOneReplicaBesideRestores
from tests.simulation.every_invariant import INVARIANTS
from tests.simulation.field_tampering import RemovesReplicas
from tests.simulation.plants import (
    EVERY,
    SEEDS,
    Rate,
    control,
    recorded,
    run_of_turn,
    seeds_left,
    setting,
    trial,
)
from tests.simulation.tampering import Tamper

# `python -m tests.simulation.plants` runs all of the recorded seeds. Here it is one with few reconciles.
SAMPLE = 1
CHOSEN_FROM = 20


@pytest.mark.parametrize("plant", EVERY, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_where_it_was_found_before_and_only_if_it_is_planted(
    plant: Callable[[], Tamper],
) -> None:
    tamper, found = plant(), recorded()[plant.__name__].found[:CHOSEN_FROM]
    seeds = sorted(found, key=lambda seed: setting(seed, tamper)[0].reconciles)[:SAMPLE]
    trials = [trial(seed, plant) for seed in seeds]
    assert [(each.seed, each.is_found, each.control) for each in trials] == [
        (seed, True, ()) for seed in seeds
    ]


@pytest.mark.parametrize("plant", EVERY, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_at_all(plant: Callable[[], Tamper]) -> None:
    assert len(recorded()[plant.__name__].found) >= 1


@pytest.mark.parametrize(
    ("seed", "plant"),
    [
        pytest.param(165, RemovesReplicas, id="a forecast still expects more of a risen load"),
        pytest.param(
            135,
            AddsOneReplicaBesideRestores,
            id="a request is repeated, and the first one is answered nevertheless",
        ),
    ],
)
def test_nothing_is_violated_without_a_planted_fault_where_a_judge_was_wrong(
    seed: int, plant: Callable[[], Tamper]
) -> None:
    assert control(*setting(seed, plant())) == ()


def test_every_invariant_has_a_planted_fault() -> None:
    known = {invariant.__name__.replace("_", " ") for invariant in INVARIANTS}
    assert known == {plant().invariant for plant in EVERY}


FIRST, SECOND = EVERY[:2]


def rates(first: int, second: int) -> dict[str, Rate]:
    """By how many seeds each has."""
    return {
        FIRST.__name__: Rate(seeds=first, found=(1,)),
        SECOND.__name__: Rate(seeds=second, found=(1,)),
    }


@pytest.mark.parametrize(
    ("turn", "seeds", "expected"),
    [
        pytest.param(0, (40, 20), (SECOND, range(20, 40)), id="the one with the fewest"),
        pytest.param(5, (SEEDS, SEEDS - 5), (SECOND, range(SEEDS - 5, SEEDS)), id="the rest"),
        pytest.param(0, (SEEDS, SEEDS), (FIRST, range(20)), id="again, by the number"),
        pytest.param(
            3, (SEEDS, SEEDS), (SECOND, range(20, 40)), id="others again, by a larger number"
        ),
        pytest.param(20, (SEEDS, SEEDS), (FIRST, range(20)), id="the first ones after the last"),
    ],
)
def test_a_turn_continues_the_planted_fault_with_the_fewest_seeds(turn, seeds, expected):
    assert run_of_turn(turn, (FIRST, SECOND), rates(*seeds)) == expected


def test_what_is_left_is_counted():
    assert seeds_left((FIRST, SECOND), rates(SEEDS, SEEDS - 30)) == 30
    assert seeds_left((FIRST, SECOND), {}) == 2 * SEEDS


@pytest.mark.parametrize(
    ("seeds", "found", "expected"),
    [
        pytest.param(range(10, 20), [12], Rate(seeds=20, found=(3, 9, 12)), id="continued"),
        pytest.param(range(10), [4], Rate(seeds=10, found=(4,)), id="run again"),
        pytest.param(range(5), [4], Rate(seeds=10, found=(4, 9)), id="some run again"),
    ],
)
def test_seeds_that_are_run_replace_those_that_were_recorded(seeds, found, expected):
    assert Rate(seeds=10, found=(3, 9)).replaced(seeds, found) == expected
