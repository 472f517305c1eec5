"""Schedules under simulated faults: the bounds that they set are those of the invariants."""

import random

import msgspec
import pytest

from tests.simulation.__main__ import described
from tests.simulation.faults import made_from as faults_of
from tests.simulation.scenario import Scenario, Window, made_from
from tests.simulation.simulate import Verdict, simulate
from tests.simulation.tampering import AddsReplicas

# A stepped clock moves the schedules too, so what is right then depends on the clock of the leader.
LEFT_OUT = ("clock-step",)
CHUNK = 10


def with_windows(seed: int) -> Scenario:
    """The scenario of a seed, whose autoscalers have other bounds for a while."""
    rng = random.Random(f"window {seed}")
    scenario = made_from(seed)
    plans = []
    for plan in scenario.autoscalers:
        low = rng.choice((1, 3, plan.max_replicas, plan.max_replicas + 5))
        window = Window(
            begin=int(rng.uniform(90, scenario.calm_at / 2)),
            seconds=int(rng.uniform(30, scenario.calm_at / 2 - 30)),
            min_replicas=low,
            max_replicas=low + rng.choice((0, 2, 10)),
        )
        plans.append(msgspec.structs.replace(plan, window=window))
    return msgspec.structs.replace(scenario, autoscalers=tuple(plans))


def outside_of_windows(verdict: Verdict) -> list[str]:
    """Targets that were outside of the bounds of their window, although it had been active for three periods."""
    found = []
    for plan in verdict.scenario.autoscalers:
        window = plan.window
        assert window is not None
        settled = window.begin + 3 * verdict.scenario.period + 5
        for each in verdict.journal.reconciled:
            inside = each.target == plan.key and settled < each.at < window.end - 5
            # Zero replicas that a user set disable autoscaling.
            if inside and not window.min_replicas <= each.replicas <= window.max_replicas:
                found.append(f"{each.target} has {each.replicas} at {each.at:.0f}: {window}")
    return found


@pytest.mark.parametrize("first", range(0, 40, CHUNK))
def test_without_faults_a_target_is_within_the_bounds_of_an_active_schedule(first: int) -> None:
    for seed in range(first, first + CHUNK):
        verdict = simulate(seed, (), scenario=with_windows(seed))
        assert not verdict.violations, "\n".join(described(verdict))
        assert outside_of_windows(verdict) == []


@pytest.mark.parametrize("first", range(0, 40, CHUNK))
def test_no_fault_leads_outside_of_the_bounds_of_schedules(first: int) -> None:
    for seed in range(first, first + CHUNK):
        scenario = with_windows(seed)
        faults = [each for each in faults_of(scenario, ()) if each.kind not in LEFT_OUT]
        verdict = simulate(seed, faults, scenario=scenario)
        assert not verdict.violations, "\n".join(described(verdict))


def test_a_write_outside_of_the_bounds_of_a_schedule_is_found() -> None:
    verdict = simulate(1, (), scenario=with_windows(1), tamper=AddsReplicas())
    assert "within bounds" in {each.invariant for each in verdict.violations}
