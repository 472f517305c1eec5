"""A forecast that has learned from recorded history: what a reconcile decides with it, and what users read."""

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import AutoscalerStatus
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.foresee import new_forecast
from scaler.extensions.forecast.levels import appended
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, NO_LEVELS
from scaler.extensions.forecast.state import ForecastMemory, WarmStart
from scaler.extensions.forecast.warm_start import learned_from_recorded, replayed
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    effective,
    external,
    named,
    observed,
    recommended,
    replaced,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
MINUTE = int(NOW // 60)
LOAD = named(external(average("10")), "load")


def forecasting(mode):
    of = spec(LOAD, min_replicas=1, max_replicas=100)
    return replaced(of, forecast=ForecastSpec(metric="load", mode=mode))


def load_at(minute):
    """60, and 120 for an hour that begins three minutes from now, every day."""
    return 120.0 if (minute - MINUTE) % MINUTES_PER_DAY in range(3, 63) else 60.0


@pytest.fixture(scope="module")
def learned():
    policy = effective(forecasting("Add"), LA)
    rules = policy.rules["forecast"]
    minutes = {m: load_at(m) for m in range(MINUTE - 4 * MINUTES_PER_DAY, MINUTE)}
    state = replayed(new_forecast(rules), minutes, rules, policy, 10.0)
    return learned_from_recorded(state, len(minutes))


def decision(mode, warm_start, *, memory=None):
    of = forecasting(mode)
    if memory is None:
        rules = effective(of, LA).rules["forecast"]
        levels = appended(appended(NO_LEVELS, MINUTE - 1, 60.0), MINUTE, 60.0)
        state = msgspec.structs.replace(new_forecast(rules), levels=levels)
        memory = msgspec.structs.replace(
            recommended((6, 900)), states={"forecast": ForecastMemory(state=state)}
        )
    seen = msgspec.structs.replace(observed(of, replicas=6), inputs={"forecast": warm_start})
    return decided(seen, (ExternalValues((60_000,)),), memory=memory, settings=LA)


def condition(found):
    status = settle(found, NotNeeded(), NOW).status
    return next(each for each in status.conditions if each.type == "ForecastReliable")


def test_a_forecast_may_act_in_the_reconcile_after_its_warm_start(learned):
    found = decision("Add", WarmStart(state=learned, per_replica=10.0))
    assert found.desired_replicas == 11
    shown = condition(found)
    assert (shown.status, shown.reason) == ("True", "Reliable")
    assert "were needed" in shown.message
    assert "learned from 4.0 days of recorded history" in shown.message


def test_a_dry_run_says_what_it_would_add_and_adds_nothing(learned):
    found = decision("DryRun", WarmStart(state=learned, per_replica=10.0))
    assert found.desired_replicas == 6
    status = settle(found, NotNeeded(), NOW).status
    assert status.forecast.added_replicas == 5
    why = explain(found.derivation, EXTENSIONS)
    assert "6 would become 11, but in a dry run it adds nothing" in why
    assert "Of these hours, 24.0 are from recorded history." in why


def test_the_warm_start_is_an_event_once_and_is_stored(learned):
    warm_start = WarmStart(state=learned, per_replica=10.0)
    found = decision("Add", warm_start)
    assert [each.reason for each in found.events] == ["ForecastLearnedHistory"]
    assert "may act" in found.events[0].message
    assert found.memory.states["forecast"].digest
    again = decision("Add", warm_start, memory=found.memory)
    assert again.events == ()


def test_while_it_learns_the_condition_says_why_there_is_no_history():
    found = decision("Add", WarmStart(problem="recorded history is not used: it is down"))
    assert found.desired_replicas == 6
    assert condition(found).reason == "Learning"
    assert condition(found).message.endswith("; recorded history is not used: it is down")


def test_a_problem_with_the_history_changes_no_decision():
    with_problem = decision("Add", WarmStart(problem="it is down"))
    without = decision("Add", None)
    assert with_problem.desired_replicas == without.desired_replicas
    assert with_problem.memory == without.memory
    assert with_problem.events == without.events


def test_a_target_that_is_not_scaled_by_metrics_now_shows_the_problem_too():
    """The condition is set before metrics are read."""
    of = forecasting("Add")
    seen = msgspec.structs.replace(
        observed(of, replicas=200, status=AutoscalerStatus()),
        inputs={"forecast": WarmStart(problem="it is down")},
    )
    found = decided(seen, (), memory=recommended((6, 900)), settings=LA)
    assert condition(found).message.endswith("; it is down")
