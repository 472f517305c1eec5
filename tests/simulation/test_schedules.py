"""Schedules under simulated faults: the bounds that they set are those of the invariants."""

import pytest

from tests.simulation.__main__ import described
from tests.simulation.field_scenarios import faults_with_fields, with_fields
from tests.simulation.simulate import Verdict, simulate
from tests.simulation.tampering import AddsReplicas

CHUNK = 10


def outside_of_windows(verdict: Verdict) -> list[str]:
    """Targets that were outside of the bounds of their window, although it had been active for three periods."""
    found = []
    for plan in verdict.scenario.autoscalers:
        window = plan.fields.window
        assert window is not None
        settled = window.begin + 3 * verdict.scenario.period + 5
        for each in verdict.journal.targets[plan.key]:
            inside = settled < each.at < window.end - 5
            if inside and not window.min_replicas <= each.replicas <= window.max_replicas:
                found.append(f"{plan.key} has {each.replicas} at {each.at:.0f}: {window}")
    return found


@pytest.mark.parametrize("first", range(0, 20, CHUNK))
def test_without_faults_a_target_is_within_the_bounds_of_an_active_schedule(first: int) -> None:
    for seed in range(first, first + CHUNK):
        verdict = simulate(seed, (), scenario=with_fields(seed, "window"))
        assert not verdict.violations, "\n".join(described(verdict))
        assert outside_of_windows(verdict) == []


@pytest.mark.parametrize("first", range(0, 20, CHUNK))
def test_no_fault_leads_outside_of_the_bounds_of_schedules(first: int) -> None:
    for seed in range(first, first + CHUNK):
        scenario = with_fields(seed, "window")
        faults = faults_with_fields(scenario)
        verdict = simulate(seed, faults, scenario=scenario)
        assert not verdict.violations, "\n".join(described(verdict))


def test_a_write_outside_of_the_bounds_of_a_schedule_is_found() -> None:
    verdict = simulate(1, (), scenario=with_fields(1, "window"), tamper=AddsReplicas())
    assert "within bounds" in {each.invariant for each in verdict.violations}
