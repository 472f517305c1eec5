"""A forecast adds what it expects beyond the present need, and is charged for what it has added."""

import math
from functools import cache

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded, Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import Behavior, CandidateSpec
from scaler.extensions.forecast.choice import Shares
from scaler.extensions.forecast.outcomes import summed
from scaler.extensions.forecast.quantiles import START as MODEL_AT_START
from scaler.extensions.forecast.state import Forecast, ForecastMemory, Outcomes, Sums, moved
from tests.unit.scaler.extensions.forecast.expected_forecasts import LA, LOAD, MAY_ACT, forecasting
from tests.unit.scaler.extensions.forecast.loads import DAY, learned
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    effective,
    external,
    named,
    observed,
    pod,
    pods,
    resource,
    rules,
    samples,
    utilization,
)

REPLICAS = 5


@cache
def flat(load: float, per_replica: float) -> Forecast:
    """What is known of a load that never changes, until the minute before NOW."""
    state = learned(lambda _: load, range(DAY + 20), per_replica=per_replica)
    return moved(state, int(NOW // 60) - 1 - state.levels.end_minute)


@cache
def jumping() -> Forecast:
    """Of a load of 50 that is 200 from 10:00 to 11:00, known until 09:54, and expected as on the days before."""
    state = learned(
        lambda minute: 200.0 if 600 <= minute % DAY < 660 else 50.0, range(3 * DAY + 595)
    )
    state = msgspec.structs.replace(
        state, model=MODEL_AT_START, shares=Shares(model=0.99, days=0.0)
    )
    return moved(state, int(NOW // 60) - 1 - state.levels.end_minute)


def memory_of(of, state: Forecast) -> Memory:
    identity = effective(of, LA).rules["forecast"].identity
    state = msgspec.structs.replace(state, identity=identity, verdict=MAY_ACT)
    return Memory(recommendations=(), states={"forecast": ForecastMemory(state=state)})


class Reconciles:
    """Of an autoscaler every 15 s, from the minute of NOW on."""

    def __init__(self, of, state: Forecast, replicas: int = REPLICAS) -> None:
        self._of, self.memory, self.replicas = of, memory_of(of, state), replicas
        self.now = NOW // 60 * 60 + 2
        self.steps, self.counts = [], []
        self.reasons: list[str] = []

    def run(self, minutes: float, *loads: float) -> None:
        for _ in range(int(minutes * 4)):
            readings = tuple(ExternalValues((round(load * 1000),)) for load in loads)
            found = decided(
                observed(self._of, replicas=self.replicas),
                readings, memory=self.memory, settings=LA, now=self.now,
            )  # fmt: skip
            outcome = settle(found, Rescaled() if found.rescale else NotNeeded(), self.now)
            self.memory = outcome.memory
            if found.rescale:
                self.replicas = found.desired_replicas
            self.counts.append(self.replicas)
            self.steps.append(found.derivation.steps)
            self.reasons += [each.reason for each in found.events]
            self.now += 15

    @property
    def added(self) -> float:
        """The replica-minutes that were charged since the beginning."""
        outcomes = self.memory.states["forecast"].state.outcomes
        return summed((*outcomes.intervals, outcomes.current)).added


def test_a_forecast_adds_only_the_expected_rise_to_what_the_window_of_scale_ups_leaves():
    of = forecasting(behavior=Behavior(scale_up=rules(window_seconds=300), scale_down=rules()))
    run = Reconciles(of, flat(50.0, 10.0))
    run.run(10, 50)
    run.run(1, 100)
    run.run(10, 50)
    assert max(each["forecast"].floor for each in run.steps) >= 10
    assert max(run.counts) <= REPLICAS + 1


def test_a_candidate_with_another_target_is_not_lifted_to_the_present_need_of_the_spec():
    candidate = CandidateSpec(metrics=(named(external(average("20")), "load"),), mode="DryRun")
    of = msgspec.structs.replace(forecasting(), candidate=candidate)
    run = Reconciles(of, flat(100.0, 10.0), replicas=10)
    run.run(8, 100, 100)
    assert run.steps[-1]["candidate"].desired == 5
    assert set(run.counts) == {10}


def test_a_candidate_with_another_target_is_lifted_by_what_the_same_load_needs_there():
    candidate = CandidateSpec(metrics=(named(external(average("20")), "load"),), mode="DryRun")
    of = msgspec.structs.replace(forecasting(), candidate=candidate)
    run = Reconciles(of, jumping())
    run.run(1, 50, 50)
    floor = run.steps[-1]["forecast"].floor
    assert 15 <= floor <= 20
    assert run.steps[-1]["candidate"].desired == math.ceil(floor / 2)


def test_replicas_of_another_metric_are_not_charged_to_the_forecast():
    of = forecasting(LOAD, external(average("10"), name="other"))
    run = Reconciles(of, flat(50.0, 10.0))
    for _ in range(12):
        run.run(1, 50, 200)
        run.run(4, 50, 40)
    assert max(run.counts) == 20
    assert run.added == 0


def test_replicas_that_the_tolerance_keeps_without_the_forecast_are_not_charged_to_it():
    run = Reconciles(forecasting(), flat(100.0, 10.0), replicas=11)
    run.run(60, 100)
    assert set(run.counts) == {11}
    assert run.added == 0


def test_what_the_budget_allows_in_a_minute_stays_for_the_minute():
    state = msgspec.structs.replace(
        jumping(), issued=(), outcomes=Outcomes(day=Sums(alone=20.0, minutes=DAY))
    )
    run = Reconciles(forecasting(budget_percent=30), state)
    run.run(1, 50)
    assert run.steps[0]["forecast"].allowed_extra == 6
    assert run.counts == [REPLICAS + 5, REPLICAS + 6, REPLICAS + 6, REPLICAS + 6]


@pytest.mark.parametrize("mode", ["Add", "DryRun"])
def test_what_pods_use_while_they_start_does_not_count(mode):
    """Otherwise each pod that a forecast adds makes it expect more, up to maxReplicas."""
    of = forecasting(named(resource(utilization(80)), "load"), mode=mode)
    starting = {"ready": "False", "started_seconds_ago": 30, "turned_seconds_ago": 30}
    target_pods = (*pods(5), *(pod(name, **starting) for name in ("web-5", "web-6")))
    used = {f"web-{number}": 800 for number in range(5)} | {"web-5": 4000, "web-6": 4000}
    found = decided(
        observed(of, replicas=7),
        (samples(used),),
        memory=memory_of(of, flat(4.0, 0.8)),
        settings=LA,
        target_pods=target_pods,
    )
    assert found.derivation.steps["forecast"].load == 4.0
    assert found.derivation.steps["forecast"].after == 7
