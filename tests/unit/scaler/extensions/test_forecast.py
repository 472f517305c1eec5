"""`spec.forecast`: it may only add, between stabilization and the limits, and never decides alone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.outcomes import summed
from scaler.extensions.forecast.state import (
    RELIABLE,
    ForecastMemory,
    Outcomes,
    Sums,
    Verdict,
)
from tests.unit.scaler.extensions.forecast.expected_forecasts import (
    LA,
    LOAD,
    MAY_ACT,
    MINUTE,
    expecting,
    forecasting,
)
from tests.unit.scaler.extensions.forecast.loads import issued, rising
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    effective,
    external,
    few_examples,
    named,
    observed,
    of_object,
    of_pods,
    recommended,
    resource,
    rules,
    samples,
    spec,
    utilization,
    value,
)

GONE = MetricFailed("no metrics returned from external metrics API")
SUSPENDED = Verdict(reason="TooMuchWaste", message="it wasted 6.1%, more than 5%")


def decision(of, load, bound, *, replicas=5, now=NOW, readings=None, **expected):
    return decided(
        observed(of, replicas=replicas),
        readings or (ExternalValues((load * 1000,)),),
        memory=expecting(of, bound, **expected),
        settings=LA,
        now=now,
    )


def condition(found, type_="ForecastReliable"):
    status = settle(found, NotNeeded(), NOW).status
    return next(each for each in status.conditions if each.type == type_)


@pytest.mark.parametrize(
    ("load", "bound", "expected"),
    [
        pytest.param(50, 70.0, 7, id="more load is expected"),
        pytest.param(50, 70.1, 8, id="a fraction of a replica is rounded up"),
        pytest.param(50, 55.0, 6, id="the tolerance is that of the metrics"),
        pytest.param(50, 20.0, 5, id="less load is expected: nothing is removed"),
        pytest.param(50, 900.0, 10, id="the policies of scaling up limit it"),
        pytest.param(0, 70.0, 7, id="no load now: it begins with the minimum"),
        pytest.param(50, None, 5, id="no forecast yet"),
    ],
)
def test_the_forecast_adds_and_never_removes(load, bound, expected):
    assert decision(forecasting(), load, bound).desired_replicas == expected


@pytest.mark.parametrize(
    ("fields", "day_replica_minutes", "expected"),
    [
        pytest.param({}, 7200.0, 10, id="40% of a day by default: 2,880 replica-minutes"),
        pytest.param({}, 7.5, 8, id="the budget of a new target: three replica-minutes"),
        pytest.param({"budget_percent": 10}, 20.0, 7, id="a smaller budget"),
        pytest.param({"max_waste_percent": 10}, 20.0, 7, id="by its former name"),
        pytest.param(
            {"budget_percent": 10, "max_waste_percent": 40}, 20.0, 7, id="the new name wins"
        ),
        pytest.param({"max_extra_percent": 50}, 7200.0, 8, id="at most half as many more"),
        pytest.param({"max_extra_percent": 1}, 7200.0, 7, id="but two are always allowed"),
        pytest.param(
            {"max_extra_percent": 1, "budget_percent": 30},
            7200.0,
            10,
            id="unless the budget is set",
        ),
    ],
)
def test_the_budget_limits_what_is_added(fields, day_replica_minutes, expected):
    found = decision(forecasting(**fields), 50, 900.0, day_replica_minutes=day_replica_minutes)
    assert found.desired_replicas == expected


def test_the_maximum_limits_a_forecast():
    found = decision(forecasting(max_replicas=6), 50, 90.0)
    assert found.desired_replicas == 6
    assert condition(found, "ScalingLimited").reason == "TooManyReplicas"


def test_policies_limit_a_forecast():
    behavior = Behavior(scale_up=rules(at_most("Pods", 1, 60)), scale_down=rules())
    assert decision(forecasting(behavior=behavior), 50, 90.0).desired_replicas == 6


def test_scaling_up_that_is_disabled_stays_disabled():
    behavior = Behavior(scale_up=rules(select="Disabled"), scale_down=rules())
    assert decision(forecasting(behavior=behavior), 50, 90.0).desired_replicas == 5


def test_only_the_recommendation_of_the_metrics_is_remembered():
    found = decision(forecasting(), 50, 70.0)
    assert [each.replicas for each in found.memory.recommendations][-1] == 5


def test_a_target_at_zero_is_not_started_by_a_forecast():
    of = forecasting(min_replicas=0)
    memory = Memory(recommendations=(), scaled_to_zero=True)
    assert decision(of, 0, 70.0, replicas=0, memory=memory).desired_replicas == 0


def test_a_target_without_load_goes_to_zero_in_spite_of_a_forecast():
    of = forecasting(min_replicas=0)
    memory = Memory(recommendations=())
    assert decision(of, 0, 70.0, replicas=1, memory=memory).desired_replicas == 0


@pytest.mark.parametrize(
    ("mode", "verdict"),
    [
        pytest.param("DryRun", MAY_ACT, id="in a dry run"),
        pytest.param("", MAY_ACT, id="in the default mode"),
        pytest.param("Add", SUSPENDED, id="while it is suspended"),
        pytest.param("Add", Verdict(), id="while it learns"),
    ],
)
def test_a_forecast_that_does_not_act_says_what_it_would_add(mode, verdict):
    found = decision(forecasting(mode=mode), 50, 70.0, verdict=verdict)
    assert found.desired_replicas == 5
    status = settle(found, NotNeeded(), NOW).status.forecast
    assert (status.replicas, status.added_replicas) == (7, 2)
    explained = explain(found.derivation, EXTENSIONS)
    assert "Forecast: metric `load` is " in explained
    assert "5 would become 7, but" in explained


def test_the_worth_of_a_dry_run_is_in_the_status():
    of = forecasting(mode="DryRun")
    memory = expecting(of, 70.0)
    day = Sums(alone=7200.0, added=300.4, useful=246.0, minutes=1440)
    state = memory.states["forecast"].state
    outcomes = msgspec.structs.replace(state.outcomes, day=day)
    state = msgspec.structs.replace(state, outcomes=outcomes)
    memory = msgspec.structs.replace(memory, states={"forecast": ForecastMemory(state=state)})
    found = decided(
        observed(of, replicas=5), (ExternalValues((50_000,)),), memory=memory, settings=LA
    )
    status = settle(found, NotNeeded(), NOW).status.forecast.last_24_hours
    assert (status.alone_replica_minutes, status.added_replica_minutes) == (7200, 300)
    assert status.needed_replica_minutes == 246
    assert "added, or would have added, 5.0 replica-hours; 4.1 of them were needed" in explain(
        found.derivation, EXTENSIONS
    )


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(
            MAY_ACT,
            ("True", "Reliable", "the forecast of load may act: 82% were needed"),
            id="reliable",
        ),
        pytest.param(
            SUSPENDED,
            (
                "False",
                "TooMuchWaste",
                "the forecast of load is suspended: it wasted 6.1%, more than 5%",
            ),
            id="suspended",
        ),
        pytest.param(
            Verdict(),
            (
                "False",
                "Learning",
                "the forecast of load needs 3 days of load before it may act",
            ),
            id="learning",
        ),
    ],
)
def test_the_condition_has_the_numbers(verdict, expected):
    found = condition(decision(forecasting(), 50, 70.0, verdict=verdict))
    assert (found.status, found.reason, found.message) == expected


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        pytest.param(
            external(value("10")), "its target is not of the type AverageValue", id="value"
        ),
        pytest.param(of_object(value("10")), "its target is not", id="value of an object"),
        pytest.param(
            resource(utilization(80), name="memory"), "memory does not follow", id="memory"
        ),
        pytest.param(external(average("10")), None, id="a load"),
    ],
)
def test_what_is_not_a_load_cannot_be_forecast(metric, problem):
    of = forecasting(named(metric, "load"))
    found = effective(of, LA).rules["forecast"].problem
    assert found is None if problem is None else found.startswith(problem)


def test_a_metric_that_cannot_be_forecast_decides_as_without_a_forecast():
    of = forecasting(named(external(value("10")), "load"))
    found = decided(
        observed(of, replicas=5), (ExternalValues((20_000,)),), memory=recommended(), settings=LA
    )
    assert found.desired_replicas == 10
    assert condition(found).reason == "CannotBeForecast"
    assert "forecast" not in found.memory.states


def test_a_failed_metric_has_not_a_load_and_is_not_another_failure():
    """The other metric decides, and the forecast adds nothing without a value of its own."""
    of = forecasting(LOAD, external(average("10"), name="other"))
    found = decision(of, 0, 200.0, readings=(GONE, ExternalValues((80_000,))))
    assert found.desired_replicas == 8
    assert "load has no value now" in explain(found.derivation, EXTENSIONS)


def test_a_forecast_that_is_too_old_is_not_used():
    """After an outage, before the first bound of the present."""
    assert decision(forecasting(), 50, 70.0, age_minutes=1).desired_replicas == 5


def test_between_two_minutes_the_forecast_stays():
    found = decision(forecasting(), 50, 70.0, now=NOW + 15)
    assert found.desired_replicas == 7


def test_another_metric_learns_from_the_beginning_and_another_target_does_not():
    of = forecasting()
    other_target = forecasting(named(external(average("20")), "load"))
    other_metric = forecasting(named(external(average("10"), name="elsewhere"), "load"))
    memory = expecting(of, 70.0)
    kept, fresh = (
        decided(
            observed(each, replicas=5), (ExternalValues((50_000,)),), memory=memory, settings=LA
        )
        .memory.states["forecast"]
        .state.verdict.reason
        for each in (other_target, other_metric)
    )
    assert (kept, fresh) == (RELIABLE, "Learning")


@pytest.mark.parametrize("mode", ["Off", None])
def test_without_the_field_or_with_off_nothing_is_kept_and_nothing_shown(mode):
    memory = expecting(forecasting(), 70.0)
    of = spec(LOAD) if mode is None else forecasting(mode=mode)
    found = decided(
        observed(of, replicas=5), (ExternalValues((50_000,)),), memory=memory, settings=LA
    )
    assert "forecast" not in found.memory.states
    assert "forecast" not in found.derivation.steps
    outcome = settle(found, NotNeeded(), NOW)
    assert outcome.status.forecast is None
    assert "ForecastReliable" not in [each.type for each in outcome.status.conditions]


def test_the_load_of_pods_is_the_sum_of_those_that_report():
    """Not their average: that falls when replicas are added."""
    of = forecasting(named(of_pods(average("10")), "load"))
    found = decided(
        observed(of, replicas=3),
        (samples({"web-0": 20_000, "web-1": 10_000, "web-2": 15_000}),),
        memory=expecting(of, 60.0),
        settings=LA,
    )
    assert found.derivation.steps["forecast"].load == 45
    assert found.derivation.steps["forecast"].floor == 6


def test_the_load_of_a_utilization_is_the_usage_of_all_pods():
    """80% of requests of 1 cpu each: one replica takes 0.8 cpu."""
    of = forecasting(named(resource(utilization(80)), "load"))
    found = decided(
        observed(of, replicas=2),
        (samples({"web-0": 700, "web-1": 900}),),
        memory=expecting(of, 3.2, per_replica=0.8),
        settings=LA,
    )
    assert found.derivation.steps["forecast"].load == pytest.approx(1.6)
    assert found.derivation.steps["forecast"].floor == 4


def test_it_is_an_event_when_the_forecast_is_suspended():
    of = forecasting()
    late = expecting(of, 70.0, age_minutes=1)
    state = late.states["forecast"].state
    # Every outcome of the last day was bad, and the interval ends with the next minute.
    bad = Sums(alone=100.0, added=40.0, useful=0.0, minutes=10)
    state = msgspec.structs.replace(
        state,
        outcomes=Outcomes(
            intervals=(bad,) * 144,
            current=msgspec.structs.replace(bad, minutes=9),
            day=summed((bad,) * 144),
        ),
        lead_minutes=1,
        levels=rising(MINUTE),
        issued=(issued(MINUTE - 1),),
    )
    found = decided(
        observed(of, replicas=5),
        (ExternalValues((50_000,)),),
        memory=msgspec.structs.replace(late, states={"forecast": ForecastMemory(state=state)}),
        settings=LA,
    )
    assert [each.reason for each in found.events] == ["ForecastSuspended"]
    assert "its budget of 40% is 96.0 replica-hours" in found.events[0].message
    assert found.memory.states["forecast"].digest != ""


loads = st.integers(0, 2_000)


@few_examples
@given(
    load=loads,
    bound=loads,
    replicas=st.integers(1, 80),
    low=st.integers(1, 10),
    more=st.integers(0, 90),
    rate=st.none() | st.integers(1, 20),
    past=st.integers(1, 100),
    acts=st.booleans(),
)
def test_the_desired_count_is_never_less_and_equal_when_it_may_not_act(
    load, bound, replicas, low, more, rate, past, acts
):
    behavior = None
    if rate is not None:
        limits = rules(at_most("Pods", rate, 60), window_seconds=120)
        behavior = Behavior(scale_up=limits, scale_down=limits)
    limits = {"min_replicas": low, "max_replicas": low + more, "behavior": behavior}
    memory = recommended((past, 60))
    with_forecast = decision(
        forecasting(**limits),
        load,
        float(bound),
        replicas=replicas,
        memory=memory,
        verdict=MAY_ACT if acts else SUSPENDED,
    )
    without = decided(
        observed(spec(LOAD, **limits), replicas=replicas),
        (ExternalValues((load * 1000,)),),
        memory=memory,
        settings=LA,
    )
    assert with_forecast.desired_replicas >= without.desired_replicas
    assert with_forecast.memory.recommendations == without.memory.recommendations
    assert with_forecast.desired_replicas <= max(low + more, without.desired_replicas)
    if not acts:
        assert with_forecast.desired_replicas == without.desired_replicas
