"""Warm starts beside the reconciles: one at a time, tried again with pauses, and never in the way."""

import asyncio
import itertools
import logging

import msgspec
import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.settings import Settings
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.forecast.load_query import NoRecordedLoad
from scaler.cluster.forecast.warm_starts import ATTEMPTS_MAX, WarmStarts
from scaler.cluster.telemetry import Telemetry
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.foresee import new_forecast
from scaler.extensions.forecast.levels import appended
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, NO_LEVELS
from scaler.extensions.forecast.state import ForecastMemory
from scaler.extensions.forecast.warm_start import learned_from_recorded, replayed
from tests.fakes.virtual_time import passes, run
from tests.unit.scaler.extensions.forecast.loads import START, daily
from tests.unit.scaler.objects import (
    autoscaler,
    average,
    effective,
    external,
    named,
    replaced,
    resource,
    spec,
)

NOW = START + 4 * MINUTES_PER_DAY
KEY = "shop/web"
HOUR = 3600.0


def web(name="web", metric=None, **fields):
    of = spec(named(metric or external(average("10")), "load"), max_replicas=100)
    found = autoscaler(replaced(of, forecast=ForecastSpec(metric="load", **fields)))
    metadata = msgspec.structs.replace(found.metadata, name=name)
    return msgspec.structs.replace(found, metadata=metadata)


def policy(of):
    return effective(of.spec, Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS))


def learning(of, last=NOW, minutes=1):
    """What a reconcile leaves of a forecast that has read so many minutes."""
    levels = NO_LEVELS
    for minute in range(last - minutes + 1, last + 1):
        levels = appended(levels, minute, daily(minute - START))
    return msgspec.structs.replace(new_forecast(policy(of).rules["forecast"]), levels=levels)


class Recorded:
    """A Prometheus with the last minutes, which may fail; and the adapter that explains each metric."""

    def __init__(self, minutes=120):
        self.failures = []
        self.queries = []
        self.at_once = self.at_once_max = 0
        self.loads = {m: daily(m - START) for m in range(NOW - minutes, NOW + 1)}

    async def query_of(self, namespace, metric, target):
        return f"sum({metric.external.metric.name})"

    async def by_minute(self, promql, first, last):
        loop = asyncio.get_running_loop()
        self.queries.append((loop.time(), promql, first, last))
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        await passes(1.0)
        self.at_once -= 1
        if self.failures:
            raise self.failures.pop(0)
        return {m: load for m, load in self.loads.items() if first <= m <= last}


class Running:
    """A `WarmStarts` whose task runs until the end."""

    def __init__(self, recorded):
        self.recorded, self.telemetry = recorded, Telemetry()
        monotonic = asyncio.get_running_loop().time
        self.warm_starts = WarmStarts(
            recorded.query_of, recorded, self.telemetry, monotonic=monotonic
        )
        self.task = asyncio.create_task(self.warm_starts.run())

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        assert not self.task.done()
        self.task.cancel()
        await asyncio.wait({self.task})

    def follow(self, of=None, state=None):
        of = of or web()
        memory = Memory(states={"forecast": ForecastMemory(state=state or learning(of))})
        self.warm_starts.decided(of, policy(of), memory)

    def found(self, key=KEY):
        return self.warm_starts.found(key)

    def count(self, result):
        name = "loadline_scaler_forecast_warm_starts_total"
        return self.telemetry.registry.get_sample_value(name, {"result": result}) or 0


def with_running(scenario, recorded=None):
    async def whole():
        async with Running(recorded or Recorded()) as running:
            await scenario(running)

    run(whole())


def test_a_new_forecast_learns_what_a_replay_of_the_recorded_minutes_leads_to():
    async def scenario(running):
        running.follow()
        assert running.found() is None
        await passes(10)
        of = web()
        rules = policy(of).rules["forecast"]
        expected = replayed(
            new_forecast(rules), running.recorded.loads, rules, policy(of), per_replica=10.0
        )
        count = len(running.recorded.loads)
        assert running.found().state == learned_from_recorded(expected, count)
        assert running.found().state.verdict.is_reliable
        assert running.count("learned") == 1

    with_running(scenario, Recorded(minutes=4 * MINUTES_PER_DAY))


def test_fifteen_days_are_queried_up_to_the_minute_that_was_read():
    async def scenario(running):
        running.follow()
        await passes(10)
        ((_, promql, first, last),) = running.recorded.queries
        assert promql == "sum(queue)"
        assert (last, last - first + 1) == (NOW, 15 * MINUTES_PER_DAY)

    with_running(scenario)


def test_minutes_that_are_read_during_the_replay_belong_to_the_result():
    async def scenario(running):
        running.follow()
        await passes(0.5)
        running.follow(state=learning(web(), last=NOW + 2, minutes=3))
        await passes(10)
        assert running.found().state.levels.end_minute == NOW + 2

    with_running(scenario)


def test_what_has_learned_from_history_is_not_queried_again():
    async def scenario(running):
        running.follow()
        await passes(10)
        running.follow(state=running.found().state)
        assert running.found() is None
        await passes(10 * HOUR)
        assert len(running.recorded.queries) == 1

    with_running(scenario)


@pytest.mark.parametrize(
    "changed",
    [{"lead_seconds": 900}, {"metric": external(average("20"))}],
    ids=["lead", "target"],
)
def test_another_lead_or_target_is_learned_again(changed):
    async def scenario(running):
        fields = dict(changed)
        running.follow()
        await passes(10)
        running.follow(web(metric=fields.pop("metric", None), **fields))
        assert running.found() is None
        await passes(10)
        assert running.found().state is not None
        assert (len(running.recorded.queries), running.count("learned")) == (2, 2)

    with_running(scenario)


def test_after_a_failure_it_is_tried_again_with_growing_pauses(caplog):
    recorded = Recorded()
    recorded.failures = [NoRecordedLoad("Prometheus is down") for _ in range(4)]

    async def scenario(running):
        running.follow()
        await passes(5)
        assert running.found().problem == "recorded history is not used: Prometheus is down"
        assert running.found().state is None
        await passes(HOUR)
        assert running.found().state is not None
        times = [each[0] for each in recorded.queries]
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert pauses == sorted(pauses)
        assert pauses[0] >= 10
        assert (running.count("failed"), running.count("learned")) == (4, 1)

    with caplog.at_level(logging.INFO):
        with_running(scenario, recorded)
    assert [record.getMessage() for record in caplog.records] == [
        "shop/web: the forecast learns without recorded history: Prometheus is down",
        "shop/web: the forecast has learned from recorded history",
    ]


def test_the_attempts_are_bounded():
    recorded = Recorded()
    recorded.failures = [NoRecordedLoad("Prometheus is down") for _ in range(100)]

    async def scenario(running):
        running.follow()
        await passes(1000 * HOUR)
        assert len(recorded.queries) == ATTEMPTS_MAX
        assert running.found().problem.endswith("Prometheus is down")

    with_running(scenario, recorded)


def test_a_bug_is_a_problem_and_does_not_stop_the_task():
    recorded = Recorded()
    recorded.failures = [ZeroDivisionError("a bug")]

    async def scenario(running):
        running.follow()
        await passes(5)
        assert "a bug" in running.found().problem
        await passes(60)
        assert running.found().state is not None

    with_running(scenario, recorded)


@pytest.mark.parametrize(
    ("loads", "problem"),
    [
        pytest.param({}, "no samples of sum(queue)", id="nothing recorded"),
        pytest.param({NOW: 5_000.0}, "the metrics API has", id="another load"),
        pytest.param({NOW - 9: 100.0}, "does not reach", id="an old load"),
    ],
)
def test_a_history_that_is_not_that_of_the_metric_is_not_used(loads, problem):
    recorded = Recorded()
    recorded.loads = loads

    async def scenario(running):
        running.follow()
        await passes(5)
        assert problem in running.found().problem

    with_running(scenario, recorded)


def test_one_is_learned_at_a_time():
    async def scenario(running):
        for name in ("a", "b", "c"):
            running.follow(web(name))
        await passes(30)
        assert all(running.found(f"shop/{name}").state is not None for name in ("a", "b", "c"))
        assert running.recorded.at_once_max == 1

    with_running(scenario)


def test_one_that_fails_does_not_delay_the_others():
    recorded = Recorded()
    recorded.failures = [NoRecordedLoad("Prometheus is down")]

    async def scenario(running):
        running.follow(web("a"))
        running.follow(web("b"))
        await passes(5)
        assert running.found("shop/a").problem
        assert running.found("shop/b").state is not None

    with_running(scenario, recorded)


def test_usage_is_not_queried_and_says_why():
    async def scenario(running):
        running.follow(web(metric=resource(average("10"))))
        await passes(HOUR)
        assert "type Resource cannot be learned" in running.found().problem
        assert running.recorded.queries == []

    with_running(scenario)


@pytest.mark.parametrize("how", ["deleted", "off"])
def test_what_is_not_wanted_any_more_is_forgotten_during_the_query(how):
    async def scenario(running):
        running.follow()
        await passes(0.5)
        if how == "deleted":
            running.warm_starts.forget(KEY)
        else:
            of = web(mode="Off")
            running.warm_starts.decided(of, policy(of), Memory())
        await passes(HOUR)
        assert running.found() is None
        assert running.count("learned") == 0

    with_running(scenario)


def test_a_forecast_without_a_value_yet_waits_for_its_first():
    async def scenario(running):
        of = web()
        running.follow(of, new_forecast(policy(of).rules["forecast"]))
        await passes(HOUR)
        assert running.recorded.queries == []

    with_running(scenario)
