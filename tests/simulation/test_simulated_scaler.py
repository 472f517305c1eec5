"""The share of the simulation that `make test` has time for; `make simulate` runs as long as one likes."""

import pytest

from tests.simulation.__main__ import described, simulated

SEEDS = 100
SEEDS_WITH_FIELDS = 60
CHUNK = 10


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_fault_makes_a_wrong_scale(first: int) -> None:
    assert failing(range(first, first + CHUNK), has_fields=False) == ""


@pytest.mark.parametrize("first", range(0, SEEDS_WITH_FIELDS, CHUNK))
def test_no_fault_makes_a_wrong_scale_of_an_autoscaler_with_additional_fields(first: int) -> None:
    assert failing(range(first, first + CHUNK), has_fields=True) == ""


def failing(seeds: range, *, has_fields: bool) -> str:
    """The seeds that break an invariant, and how to replay them."""
    verdicts = (simulated(seed, has_fields=has_fields) for seed in seeds)
    return "\n".join(
        line for verdict in verdicts if verdict.violations for line in described(verdict)
    )
