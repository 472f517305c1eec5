"""The share of the simulation that `make test` has time for; `make soak` runs new seeds of every kind for hours."""

import os
from collections.abc import Iterable

import pytest

from testbed.soak.regressions import newest, recorded
from tests.simulation.__main__ import described, simulated
from tests.simulation.added_faults import ADDED
from tests.simulation.simulate import shrunk

# The same ones each time, so fewer than of those that failed once.
SEEDS = 5
SEEDS_WITH_FIELDS = 3
SEEDS_WITH_DATES = 3
SEEDS_WITH_SHARDS = 2
SEEDS_WITH_HPAS = 3
SEEDS_WITH_HPAS_AND_SHARDS = 2
SEEDS_WITH_THE_ADAPTER = 2
SEEDS_WITH_ADDED_FAULTS = 3
SEEDS_WITH_STREAMS = 1
FAILED_ONCE = recorded("simulation")
REPEATED = FAILED_ONCE if os.environ.get("LOADLINE_REGRESSIONS") == "all" else newest(FAILED_ONCE)


def flags(source: str) -> str:
    """Those in the name of a source, as in `simulation --hpas --shards`."""
    return " ".join(each.removeprefix("--") for each in source.split()[1:])


def test_no_fault_makes_a_wrong_scale() -> None:
    assert failing(range(SEEDS), scenarios="") == ""


def test_no_fault_makes_a_wrong_scale_of_an_autoscaler_with_additional_fields() -> None:
    assert failing(range(SEEDS_WITH_FIELDS), scenarios="fields") == ""


def test_no_fault_makes_a_wrong_scale_while_clocks_change_or_a_year_ends() -> None:
    assert failing(range(SEEDS_WITH_DATES), scenarios="dates") == ""


def test_no_fault_makes_a_wrong_scale_by_replicas_that_share_the_namespaces() -> None:
    assert failing(range(SEEDS_WITH_SHARDS), scenarios="shards") == ""


def test_no_fault_makes_a_wrong_scale_of_an_hpa_with_a_stored_memory() -> None:
    assert failing(range(SEEDS_WITH_HPAS), scenarios="hpas") == ""


def test_no_fault_makes_a_wrong_scale_of_hpas_whose_namespaces_are_shared() -> None:
    assert failing(range(SEEDS_WITH_HPAS_AND_SHARDS), scenarios="hpas shards") == ""


def test_no_fault_makes_a_wrong_scale_or_a_wrong_value_of_the_adapter() -> None:
    assert failing(range(SEEDS_WITH_THE_ADAPTER), scenarios="adapter") == ""


def test_no_fault_makes_a_wrong_scale_or_a_wrong_value_of_streamed_metrics() -> None:
    assert failing(range(SEEDS_WITH_STREAMS), scenarios="adapter streams") == ""


@pytest.mark.parametrize("scenarios", sorted(ADDED))
def test_no_added_fault_makes_a_wrong_scale(scenarios: str) -> None:
    assert failing(range(SEEDS_WITH_ADDED_FAULTS), scenarios=scenarios) == ""


@pytest.mark.parametrize(
    ("scenarios", "seed"),
    [(flags(each.source), int(each.case)) for each in REPEATED],
)
def test_no_seed_that_failed_once_fails_again(scenarios: str, seed: int) -> None:
    assert failing([seed], scenarios=scenarios) == ""


def failing(seeds: Iterable[int], *, scenarios: str) -> str:
    """The seeds that break an invariant, and how to replay them."""
    verdicts = (simulated(seed, scenarios=scenarios) for seed in seeds)
    return "\n".join(
        line
        for verdict in verdicts
        if verdict.violations
        for line in described(verdict, shrunk(verdict))
    )
