"""The points of a load are those of the decisions of the scaler."""

import math
import random

import msgspec
import pytest

from benchmarks.forecast_policies import policies
from benchmarks.frontier.measured import days_of
from benchmarks.frontier.plain_replay import Counts
from benchmarks.frontier.replays import (
    BUDGETS_PERCENT,
    DAYS_MAX,
    DEFAULT,
    FORECAST,
    FULL_LOAD,
    HPA,
    HPA_TARGETS,
    MARGINS,
    PERFECT,
    RIVALS,
    forecast_point,
    knobs,
    plain_points,
    prepared,
)
from benchmarks.traces.replay import Setup, replay
from benchmarks.traces.trace import Trace
from scaler.api.forecast import ForecastSpec

DAY = 1440
SCORED_FROM = 3 * DAY


def recorded(days, *, unit=1.0):
    """Days with a noisy morning, and an hour without values each day."""
    chosen = random.Random(3)
    loads = tuple(
        None
        if minute % DAY in range(900, 960)
        else unit * (300 - 200 * math.cos(2 * math.pi * minute / DAY)) * chosen.uniform(0.4, 1.6)
        for minute in range(days * DAY)
    )
    return Trace(name="noisy days", start_unix_seconds=1_728_000_000, loads=loads)


@pytest.fixture(scope="module")
def load():
    return prepared(recorded(4), 2)


@pytest.fixture(scope="module")
def plain(load):
    return {(each.policy, each.target, each.knob): each for each in plain_points(load)}


def decided(load, policy, target):
    """The days of the decisions of the scaler."""
    steps = list(
        replay(
            policy.autoscaler(FULL_LOAD * target),
            policy.settings,
            load.trace,
            Setup(start_up_seconds=120, delay_seconds=60, replicas=5),
            others=policy.others(load.trace, load.lead_seconds),
        )
    )
    counts = Counts(
        requested=[each.requested for each in steps], ready=[each.ready for each in steps]
    )
    return days_of(counts, load.demands, SCORED_FROM)


@pytest.mark.parametrize("name", [HPA, *RIVALS])
def test_a_plain_policy_has_the_points_of_the_scaler(load, plain, name):
    policy = next(each for each in policies(load.lead_seconds) if each.name == name)
    found = plain[name, 0.7, "" if name == HPA else "x 1"]
    assert found.days == decided(load, policy, 0.7)


def test_the_hpa_with_a_high_target_is_short(plain):
    """So that the comparison above means something."""
    assert sum(each.short_minutes for each in plain[HPA, 0.9, ""].days) > 100


def test_each_plain_policy_has_each_target_and_each_rival_each_margin(plain):
    plain_policies = [each for each in plain if each[0] != PERFECT]
    assert len(plain_policies) == len(HPA_TARGETS) * (1 + len(RIVALS) * len(MARGINS))


def test_with_perfect_knowledge_of_the_lead_the_load_is_nearly_always_served(plain):
    short = {
        name: sum(each.short_minutes for each in plain[name, 0.7, knob].days)
        for name, knob in ((HPA, ""), (PERFECT, "x 1"))
    }
    assert short[PERFECT] < 0.1 * short[HPA]


def test_a_larger_margin_costs_more(plain):
    hours = [
        sum(day.replica_minutes for day in plain[RIVALS[0], 0.7, f"x {m:g}"].days) for m in MARGINS
    ]
    assert hours == sorted(hours)
    assert len(set(hours)) == len(MARGINS)


def test_the_points_do_not_depend_on_the_unit_of_the_load(plain):
    """In hundredths, a spec could not have the target of such a load."""
    tiny = next(iter(plain_points(prepared(recorded(4, unit=1e-5), 2))))
    assert tiny.days == plain[HPA, HPA_TARGETS[0], ""].days


def test_a_load_without_values_in_most_of_the_time_is_refused():
    trace = Trace(name="empty", start_unix_seconds=0, loads=(0.0,) * 500)
    with pytest.raises(ValueError, match="empty has no load in 99%"):
        prepared(trace, 2)


def test_a_long_load_is_cut():
    trace = recorded(1)
    long = msgspec.structs.replace(trace, loads=trace.loads * (DAYS_MAX + 5))
    assert len(prepared(long, 2).trace.loads) == DAYS_MAX * DAY


def test_the_forecast_is_replayed_with_its_knobs(load):
    found = forecast_point(load, 0.7, DEFAULT, {})
    assert (found.policy, found.knob) == (FORECAST, DEFAULT)
    assert found.reliable_percent is not None
    assert found.waste_percent_max is not None
    assert sum(each.minutes for each in found.days) == DAY - 60


def test_each_knob_is_a_field_of_the_spec():
    found = knobs()
    assert found[DEFAULT] == {}
    assert len(found) == 1 + len(BUDGETS_PERCENT)
    for fields in found.values():
        assert fields.keys() <= set(ForecastSpec.__struct_fields__)
