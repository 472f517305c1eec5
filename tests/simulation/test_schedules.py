"""Schedules under simulated faults: the bounds that they set are those of the invariants."""

from datetime import UTC, datetime

import msgspec
import pytest

from tests.simulation.__main__ import described
from tests.simulation.date_scenarios import starts, with_dates
from tests.simulation.field_scenarios import faults_with_fields, with_fields
from tests.simulation.fields import Fields, LocalStart, Window
from tests.simulation.objects import bounds
from tests.simulation.scenario import made_from
from tests.simulation.simulate import simulate
from tests.simulation.tampering import AddsReplicas

SEEDS = 3


def test_without_faults_a_target_is_within_the_bounds_of_an_active_schedule() -> None:
    for seed in range(SEEDS):
        verdict = simulate(seed, (), scenario=with_fields(seed, "window"))
        assert not verdict.violations, "\n".join(described(verdict, verdict))


def test_a_target_is_within_the_bounds_of_a_schedule_while_clocks_change() -> None:
    for seed in range(SEEDS):
        verdict = simulate(seed, (), scenario=with_dates(seed, "window"))
        assert not verdict.violations, "\n".join(described(verdict, verdict))


def test_no_fault_leads_outside_of_the_bounds_of_schedules() -> None:
    for seed in range(SEEDS):
        scenario = with_fields(seed, "window")
        faults = faults_with_fields(scenario)
        verdict = simulate(seed, faults, scenario=scenario)
        assert not verdict.violations, "\n".join(described(verdict, verdict))


def test_a_write_outside_of_the_bounds_of_a_schedule_is_found() -> None:
    verdict = simulate(1, (), scenario=with_fields(1, "window"), tamper=AddsReplicas())
    assert "within bounds" in {each.invariant for each in verdict.violations}


@pytest.mark.parametrize(
    ("zone", "local", "is_cron", "begins"),
    [
        pytest.param("Europe/Berlin", "2026-07-01T08:00:00", False, ["07-01T06:00"], id="in summer"),
        pytest.param("Europe/Berlin", "2026-03-29T02:30:00", False, ["03-29T01:30"], id="skipped"),
        pytest.param("Europe/Berlin", "2026-10-25T02:30:00", False, ["10-25T00:30"], id="twice: the first time"),
        pytest.param("Europe/Berlin", "2026-10-25T02:30:00", True, ["10-25T00:30", "10-25T01:30"], id="twice: both times"),
        pytest.param("America/Santiago", "2026-09-06T00:30:00", False, ["09-06T04:30"], id="midnight is skipped"),
        pytest.param("Australia/Lord_Howe", "2026-10-04T02:15:00", False, ["10-03T15:45"], id="half an hour is skipped"),
    ],
)  # fmt: skip
def test_the_simulation_knows_when_a_local_time_is(
    zone: str, local: str, is_cron: bool, begins: list[str]
) -> None:
    found = starts(LocalStart(time_zone=zone, start=local), 0, is_cron=is_cron)
    shown = [datetime.fromtimestamp(each, UTC).strftime("%m-%dT%H:%M") for each in found]
    assert shown == begins


def test_the_days_around_a_change_of_clocks_have_23_and_25_hours() -> None:
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25)):
        daily = LocalStart(time_zone="Europe/Berlin", start=f"{day}T00:00:00", is_daily=True)
        first, second, *_ = starts(
            daily, datetime.fromisoformat(f"{day}T12:00Z").timestamp(), is_cron=False
        )
        assert second - first == 3600 * hours


@pytest.mark.parametrize(
    ("now", "offsets", "expected"),
    [
        pytest.param(50.0, (), [(1, 5)], id="before"),
        pytest.param(
            99.5, (), [(1, 5), (7, 9)], id="about to begin: a clock that is ahead is last"
        ),
        pytest.param(103.0, (), [(7, 9)], id="active"),
        pytest.param(103.0, (-5.0,), [(1, 5), (7, 9)], id="active, and a clock is 5 s behind"),
        pytest.param(97.0, (5.0,), [(7, 9), (1, 5)], id="before, and a clock is 5 s ahead"),
    ],
)
def test_the_bounds_of_an_edit_are_those_by_the_clock_of_each_machine(
    now: float, offsets: tuple[float, ...], expected: list[tuple[int, int]]
) -> None:
    scenario = made_from(1)
    window = Window(begin=100, seconds=60, min_replicas=7, max_replicas=9)
    plan = msgspec.structs.replace(scenario.autoscalers[0], fields=Fields(window=window))
    edited = {
        "metadata": {"namespace": plan.namespace, "name": plan.name},
        "spec": {"minReplicas": 1, "maxReplicas": 5, "scaleTargetRef": {"name": plan.name}},
    }
    scenario = msgspec.structs.replace(scenario, autoscalers=(plan,))
    assert bounds(scenario, "loadautoscalers", edited, now, offsets) == expected
