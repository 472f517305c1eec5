"""The share of the simulation that `make test` has time for; `make simulate` runs as long as one likes."""

import pytest

from tests.simulation.__main__ import described
from tests.simulation.simulate import simulate

SEEDS = 100
CHUNK = 10


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_fault_makes_a_wrong_scale(first: int) -> None:
    verdicts = (simulate(seed) for seed in range(first, first + CHUNK))
    failing = ["\n".join(described(verdict)) for verdict in verdicts if verdict.violations]
    assert "\n".join(failing) == ""
