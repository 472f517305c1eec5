"""A replay decides as the running scaler, knows nothing of the future, and lets pods start."""

import msgspec
import pytest

from benchmarks.traces.replay import Setup, replay, score
from benchmarks.traces.trace import Trace
from scaler.algorithm.settings import Settings
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.choice import SHORTAGE_FROM
from tests.unit.scaler.extensions.forecast.loads import DAY, START, daily
from tests.unit.scaler.objects import autoscaler, average, external, named, replaced, spec

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, sync_period_seconds=60.0)
LOAD = named(external(average("10")), "load")
FORECAST = ForecastSpec(metric="load", mode="Add", lead_seconds=240)


def trace(*loads):
    return Trace(name="load", start_unix_seconds=START * 60, loads=loads)


def steps(of, *loads, start_up_seconds=120, delay_seconds=60, replicas=4, others=None):
    setup = Setup(start_up_seconds=start_up_seconds, delay_seconds=delay_seconds, replicas=replicas)
    return list(replay(autoscaler(of), LA, trace(*loads), setup, others=others))


def test_a_pod_is_ready_after_its_start_up_and_the_load_is_seen_with_its_delay():
    found = steps(spec(LOAD), 40, 80, 80, 80, 80)
    assert [each.requested for each in found] == [4, 4, 8, 8, 8]
    assert [each.ready for each in found] == [4, 4, 4, 4, 8]


def test_scaling_in_removes_pods_that_are_not_ready_first():
    found = steps(spec(LOAD), 40, 80, 40, 40, 40, replicas=4)
    assert min(each.ready for each in found) == 4


def test_a_minute_that_was_not_recorded_is_a_failed_metric():
    found = steps(spec(LOAD), 40, None, None, 40)
    assert "no metrics returned" in found[2].derivation.metrics[0].failure
    assert [each.requested for each in found] == [4] * 4


def test_minutes_without_a_load_do_not_count_in_the_score():
    """A minute of four, with three replicas ready where four are needed."""
    recorded = steps(spec(LOAD), 40, 40, 40, 40, replicas=4)
    unknown = msgspec.structs.replace(recorded[0], load=None, ready=1)
    short = msgspec.structs.replace(recorded[1], ready=3)
    found = score([short, unknown, *recorded[2:]], 10)
    assert found.under_timeshare == pytest.approx(100 / 3)
    assert found.scored_hours == pytest.approx(3 / 60)


def test_another_metric_has_its_own_values():
    of = spec(LOAD, named(external(average("10"), name="ahead"), "ahead"))
    found = steps(of, 40, 40, 40, others={"ahead": lambda *_: 90.0})
    assert found[-1].requested == 9


@pytest.fixture(scope="module")
def days():
    """Three days, after which a forecast may act, and a morning."""
    return [daily(minute) for minute in range(3 * DAY + 600)]


@pytest.fixture(scope="module")
def with_forecast(days):
    return steps(replaced(spec(LOAD), forecast=FORECAST), *days)


def without_forecast(days):
    """The last five hours. What was recorded before the last day has no effect on them."""
    return steps(spec(LOAD), *days[-(len(days) % DAY) :])[-300:]


def test_a_forecast_is_ahead_of_a_jump_at_the_same_time_of_each_day():
    days = [200.0 if 480 <= minute % DAY < 900 else 100.0 for minute in range(4 * DAY + 600)]
    with_forecast = steps(replaced(spec(LOAD), forecast=FORECAST), *days)
    late = [
        # 10 per replica is the target.
        sum(each.ready * 10 * SHORTAGE_FROM < each.load for each in morning)
        for morning in (without_forecast(days), with_forecast[-300:])
    ]
    assert late[0] >= 3
    assert late[1] == 0


def test_a_forecast_is_ahead_of_a_batch_before_which_there_is_no_load_at_all():
    """As far as the default rates of scaling up allow: 4 pods in a minute, or as many as there are."""
    days = [200.0 if 480 <= minute % DAY < 900 else 0.0 for minute in range(4 * DAY + 481)]
    with_forecast = steps(replaced(spec(LOAD), forecast=FORECAST), *days)
    assert [of[-1].ready for of in (without_forecast(days), with_forecast)] == [1, 17]


def test_a_forecast_adds_less_to_a_ramp_that_is_followed_within_the_tolerance(days, with_forecast):
    requested = [
        sum(each.requested for each in morning)
        for morning in (without_forecast(days), with_forecast[-300:])
    ]
    assert requested[0] <= requested[1] < 1.1 * requested[0]


def test_a_forecast_acts_only_after_three_days(with_forecast):
    acting = [each.derivation.steps.get("forecast").acts for each in with_forecast[10:]]
    assert not any(acting[: 3 * DAY - 10])
    assert any(acting)


def test_the_decisions_do_not_depend_on_the_future(days, with_forecast):
    """Also not on the present minute, which the scaler sees one minute late."""
    now = 3 * DAY + 400
    corrupted = [*days[:now], *(each * 3 + 70 for each in days[now:])]
    found = steps(replaced(spec(LOAD), forecast=FORECAST), *corrupted)
    same = [
        (msgspec.structs.replace(one, load=0.0), msgspec.structs.replace(other, load=0.0))
        for one, other in zip(found[: now + 1], with_forecast[: now + 1], strict=True)
    ]
    assert all(one == other for one, other in same)
    assert found[now + 1].derivation != with_forecast[now + 1].derivation
