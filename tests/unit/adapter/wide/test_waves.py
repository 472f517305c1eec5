"""A wave of requests never takes much longer, or costs Prometheus much more, than it would with own queries alone."""

import asyncio
from functools import cache

import msgspec
import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import (
    FOR_AUTOSCALER,
    Cost,
    DiscoveryRule,
    Evaluation,
    ExternalMetricRequest,
    Freshness,
    Offer,
    Reaction,
    ResourceLabels,
    Sample,
    SignalContract,
)
from adapter.promql.row_selection import indexed
from adapter.wide.plans import WidePlans
from tests.fakes import virtual_time
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects
from tests.unit.adapter.promql.small_promql import evaluate
from wire.api import labels

SERIES = [
    {"__name__": "depth", "namespace": f"team-{team}", "queue": f"q{queue}"}
    for team in range(20)
    for queue in range(10)
]
VALUES = [float(number) for number in range(len(SERIES))]
WORKERS = 5
PERIOD_SECONDS = 15.0
FAST_SECONDS = 0.004
OFFER = Offer(
    DiscoveryRule(
        path="externalRules[0]",
        external=True,
        series_query="depth",
        resources=ResourceLabels(template="<<.Resource>>"),
        metrics_query="sum(<<.Series>>{<<.LabelMatchers>>})",
        contract=SignalContract(
            on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT
        ),
    ),
    "depth",
)
REQUESTS = [
    ExternalMetricRequest(
        namespace=each["namespace"],
        metric="depth",
        selector=labels.parse(f"queue={each['queue']}"),
    )
    for each in SERIES
]


@cache
def rows_of(query):
    return evaluate(query, SERIES, VALUES)


class TimedPrometheus:
    """Takes its time for each query, by the clock of the loop, and reports what the query cost."""

    def __init__(self, own_seconds=FAST_SECONDS, wide_seconds=FAST_SECONDS):
        self.own_seconds = own_seconds
        self.wide_seconds = wide_seconds
        self.own_samples = self.wide_samples = None
        self.has_series = True
        self.own = self.wide = 0

    async def evaluate(self, plan, sending=FOR_AUTOSCALER):
        is_wide = bool(plan.key_labels)
        if is_wide:
            self.wide += 1
        else:
            self.own += 1
        seconds = self.wide_seconds if is_wide else self.own_seconds
        samples = self.wide_samples if is_wide else self.own_samples
        rows = rows_of(plan.query) if self.has_series else {}
        now_seconds = asyncio.get_running_loop().time()
        evaluation = Evaluation(
            samples=tuple(Sample(dict(key), value, now_seconds) for key, value in rows.items()),
            evaluated_at_seconds=now_seconds,
            cost=Cost(seconds=seconds, samples=samples),
        )
        await virtual_time.passes(seconds)
        return indexed(evaluation, plan.key_labels)


class Wave(msgspec.Struct, frozen=True):
    """What one wave took, and sent."""

    seconds: float
    own: int
    wide: int


class Adapter:
    """The answers over a Prometheus that takes its time."""

    def __init__(self, prometheus, *, wide=True):
        monotonic = asyncio.get_running_loop().time
        freshness = Freshness()
        shared = SharedEvaluations(prometheus, freshness=freshness, monotonic=monotonic)
        self.prometheus = prometheus
        self.answers = Answers(
            evaluator=shared,
            objects=FakeObjects({}),
            mapping=FakeMapping(),
            active=ActiveConfiguration(
                catalog=FakeCatalog(external={"depth": OFFER}),
                wide_plans=WidePlans(shared, freshness=freshness, monotonic=monotonic)
                if wide
                else None,
            ),
            now=monotonic,
        )

    async def wave(self, requests=REQUESTS, *, workers=WORKERS):
        """All requests once, a few at a time, then a pause until the next period."""
        loop = asyncio.get_running_loop()
        began_at, own, wide = loop.time(), self.prometheus.own, self.prometheus.wide
        waiting = iter(enumerate(requests))

        async def worker():
            for number, request in waiting:
                document = await self.answers.external(request)
                expected = [f"{number}"] if self.prometheus.has_series else []
                assert [str(item.value) for item in document.items] == expected

        await asyncio.gather(*(worker() for _ in range(workers)))
        took_seconds = loop.time() - began_at
        sent = self.prometheus.own - own, self.prometheus.wide - wide
        await virtual_time.passes(PERIOD_SECONDS - took_seconds % PERIOD_SECONDS)
        return Wave(took_seconds, *sent)


def waves(prometheus, count, requests=REQUESTS, *, wide=True, change=None):
    """So many waves; `change` is applied to Prometheus between the second and the third."""

    async def scenario():
        adapter = Adapter(prometheus, wide=wide)
        found = []
        for number in range(count):
            if number == 2 and change:
                change(prometheus)
            found.append(await adapter.wave(requests))
        return found

    return virtual_time.run(scenario())


def test_on_a_fast_prometheus_a_wave_is_one_wide_query():
    _, *later = waves(TimedPrometheus(), 5)
    assert {(each.own, each.wide) for each in later} == {(0, 1)}


def test_on_a_slow_prometheus_too_a_wave_is_one_wide_query():
    """Also a result that took longer than the freshness bound is reused: an own query would have taken as long."""
    prometheus = TimedPrometheus(own_seconds=1.2, wide_seconds=1.2)
    _, *later = waves(prometheus, 4)
    assert {(each.own, each.wide) for each in later} == {(0, 1)}
    assert all(each.seconds < 1.5 for each in later), "with own queries it would be 48 s"


@pytest.mark.parametrize("wide_seconds", [1.2, 4.0, 29.0, 60.0])
def test_a_wave_with_a_slow_wide_query_takes_as_long_as_with_own_queries(wide_seconds):
    some = REQUESTS[:50]
    own = max(each.seconds for each in waves(TimedPrometheus(), 1, some, wide=False))
    found = waves(TimedPrometheus(wide_seconds=wide_seconds), 40, some)
    assert max(each.seconds for each in found) < own + 0.3
    assert sum(each.wide for each in found) <= 6, "of forty waves in ten minutes"
    assert sum(each.seconds > own + 0.05 for each in found) <= 6


def test_a_wide_query_that_becomes_slow_delays_one_wave_by_a_moment():
    own = max(each.seconds for each in waves(TimedPrometheus(), 1, wide=False))

    def slow_down(prometheus):
        prometheus.wide_seconds = 3.0

    found = waves(TimedPrometheus(), 8, change=slow_down)
    assert [each.wide for each in found[1:]] == [1, 1, 0, 0, 0, 0, 1]
    assert max(each.seconds for each in found) < own + 0.3


def test_a_wide_query_that_was_slow_for_a_while_is_used_again():
    def slow_down(prometheus):
        prometheus.wide_seconds = 3.0

    async def scenario():
        prometheus = TimedPrometheus()
        adapter = Adapter(prometheus)
        for _ in range(2):
            await adapter.wave()
        slow_down(prometheus)
        await adapter.wave()
        prometheus.wide_seconds = FAST_SECONDS
        return [await adapter.wave() for _ in range(8)]

    found = virtual_time.run(scenario())
    assert found[0].own == len(REQUESTS)
    assert (found[-1].own, found[-1].wide) == (0, 1)


def test_a_wide_query_that_reads_far_more_samples_than_the_requests_need_is_rarely_sent():
    """Ten autoscalers of three pods in a namespace of 2,500: few rows, but all series of the namespace are read."""

    async def scenario():
        prometheus = TimedPrometheus()
        prometheus.own_samples, prometheus.wide_samples = 600, 500_000
        adapter = Adapter(prometheus)
        for _ in range(240):
            await adapter.wave(REQUESTS[:10])
        return prometheus

    prometheus = virtual_time.run(scenario())
    assert prometheus.wide <= 7, "in an hour"
    assert prometheus.own >= 2_300


@pytest.mark.parametrize(
    ("own_samples", "wide_samples"),
    [
        pytest.param(600, 120_000, id="what the own queries would read"),
        pytest.param(1, 100_000, id="less than the own queries cost beside it"),
        pytest.param(None, None, id="no statistics"),
        pytest.param(None, 1_000_000, id="statistics of one only"),
    ],
)
def test_a_wide_query_that_reads_as_much_as_it_replaces_is_used(own_samples, wide_samples):
    prometheus = TimedPrometheus()
    prometheus.own_samples, prometheus.wide_samples = own_samples, wide_samples
    _, *later = waves(prometheus, 3)
    assert {(each.own, each.wide) for each in later} == {(0, 1)}


def test_what_own_queries_cost_is_measured_again_from_time_to_time():
    """Otherwise a wide query would be compared with the start of the program."""
    _, *later = waves(TimedPrometheus(), 160, REQUESTS[:20])
    assert 2 <= sum(each.own for each in later) <= 5, "in forty minutes"


def test_requests_without_series_are_answered_by_their_own_queries():
    """A wide query without a row for a request might have been wrong about it; and it replaces nothing."""
    prometheus = TimedPrometheus()
    prometheus.has_series = False
    found = waves(prometheus, 10)
    assert {each.own for each in found} == {len(REQUESTS)}
    assert sum(each.wide for each in found) <= 1
