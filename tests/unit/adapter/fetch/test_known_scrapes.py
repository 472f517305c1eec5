"""Where scrapes are known, values are as fresh as those of a query for each request, at fewer queries."""

import asyncio

import msgspec
import pytest

from adapter.fetch.known_scrapes import PLANS_MAX, QUERY_BYTES_MAX, KnownScrapes
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import FOR_AUTOSCALER, Cost, Evaluation, Freshness, Plan, Sample
from adapter.ports import QueryFailed
from adapter.promql.ages import COUNT, COUNTED_SECONDS, NEWEST, OF, OLDEST, scrapes_query
from tests.fakes import virtual_time

WIDE = Plan('max by (queue) (depth{queue!=""})', key_labels=("queue",))
LEARNED_SECONDS = 70.0
STORED_SECONDS = 0.02
AHEAD_SECONDS = 1_000_000.0
"""The clock of Prometheus is another one."""


class ScrapedPrometheus:
    """Scrapes each of its targets once in an interval; the value of a series is the time of its newest sample."""

    def __init__(self, interval_seconds=15.0, offsets_seconds=(4.3,)):
        self.interval_seconds = interval_seconds
        self.offsets_seconds = offsets_seconds
        self.takes_seconds = 0.01
        self.fails = False
        self.evaluations = self.observations = 0

    def newest(self):
        stored = asyncio.get_running_loop().time() - STORED_SECONDS
        return [
            stored - (stored - offset) % self.interval_seconds for offset in self.offsets_seconds
        ]

    async def evaluate(self, plan, sending=FOR_AUTOSCALER):
        await virtual_time.passes(self.takes_seconds)
        now_seconds = asyncio.get_running_loop().time() + AHEAD_SECONDS
        newest = [each + AHEAD_SECONDS for each in self.newest()]
        if plan == WIDE:
            self.evaluations += 1
            samples = tuple(Sample({}, each, now_seconds) for each in newest)
            return Evaluation(samples=samples, evaluated_at_seconds=now_seconds)
        self.observations += 1
        assert plan.query == scrapes_query(WIDE.query)
        if self.fails:
            raise QueryFailed(backend="default", query=plan.query, cause="down", retryable=True)
        values = {
            NEWEST: max(newest),
            OLDEST: min(newest),
            COUNT: COUNTED_SECONDS // self.interval_seconds,
        }
        return Evaluation(
            samples=tuple(Sample({OF: of}, each, now_seconds) for of, each in values.items()),
            evaluated_at_seconds=now_seconds,
        )


class Served(msgspec.Struct, frozen=True):
    """How much older values were than those of a query of their own, and what was sent in 15 s."""

    mean_seconds: float
    worst_seconds: float
    evaluations: float
    observations: float


def served(prometheus, *, learns=True, freshness=None, minutes=6, change=lambda _: None):
    """Requests ten times a second; `change` is applied to Prometheus after what is learned first."""

    async def scenario():
        loop = asyncio.get_running_loop()
        freshness_ = freshness or Freshness()
        scrapes = KnownScrapes(prometheus, monotonic=loop.time) if learns else None
        shared = SharedEvaluations(
            prometheus, freshness=freshness_, scrapes=scrapes, monotonic=loop.time
        )
        while loop.time() < LEARNED_SECONDS:
            await shared.evaluate(WIDE)
            await virtual_time.passes(0.1)
        change(prometheus)
        prometheus.evaluations = prometheus.observations = 0
        older = []
        while loop.time() < LEARNED_SECONDS + 60 * minutes:
            evaluation = await shared.evaluate(WIDE)
            newest = [each + AHEAD_SECONDS for each in prometheus.newest()]
            older += [
                now - sample.value for now, sample in zip(newest, evaluation.samples, strict=True)
            ]
            await virtual_time.passes(0.1)
        turns = 4 * minutes
        return Served(
            mean_seconds=sum(older) / len(older),
            worst_seconds=max(older),
            evaluations=prometheus.evaluations / turns,
            observations=prometheus.observations / turns,
        )

    return virtual_time.run(scenario())


@pytest.mark.parametrize("interval_seconds", [1.0, 2.0, 5.0, 15.0, 30.0, 60.0])
def test_values_of_one_target_are_served_soon_after_the_scrape_with_fewer_queries(interval_seconds):
    without = served(ScrapedPrometheus(interval_seconds), learns=False)
    found = served(ScrapedPrometheus(interval_seconds))
    assert found.mean_seconds < 0.2
    assert found.evaluations + found.observations <= without.evaluations * 1.02
    assert without.mean_seconds > 0.4


def test_between_two_scrapes_few_queries_are_sent():
    found = served(ScrapedPrometheus())
    assert found.evaluations == pytest.approx(6, abs=0.1)
    assert found.observations <= 0.1


def test_of_a_large_result_the_age_falls_and_the_queries_do_not_grow():
    always = Freshness(seconds=3.0, longest_seconds=3.0001)
    without = served(ScrapedPrometheus(), learns=False, freshness=always)
    found = served(ScrapedPrometheus(), freshness=always)
    assert without.mean_seconds > 1.3
    assert found.mean_seconds < 0.2
    assert found.evaluations + found.observations <= without.evaluations * 1.05


@pytest.mark.parametrize(
    "prometheus",
    [
        pytest.param(lambda: ScrapedPrometheus(offsets_seconds=(4.3, 5.5, 11.0)), id="many targets"),
        pytest.param(lambda: ScrapedPrometheus(interval_seconds=7.0), id="another interval"),
    ],
)  # fmt: skip
def test_where_scrapes_are_not_known_a_result_is_reused_as_without_them(prometheus):
    without, found = served(prometheus(), learns=False), served(prometheus())
    assert found.evaluations == pytest.approx(without.evaluations, abs=0.1)
    assert found.worst_seconds <= 15.0 + 1.1
    assert found.observations <= 0.5


def test_where_the_observation_fails_it_is_seldom_repeated():
    prometheus = ScrapedPrometheus()
    prometheus.fails = True
    found = served(prometheus)
    assert found.observations < 0.05
    assert found.evaluations == pytest.approx(14, abs=1)


def test_a_slow_prometheus_is_not_observed():
    prometheus = ScrapedPrometheus()
    prometheus.takes_seconds = 0.4
    assert served(prometheus, minutes=5).observations == 0


def test_after_the_scrapes_have_moved_a_value_is_late_by_three_seconds_at_most_and_for_five_minutes():
    def move(prometheus):
        prometheus.offsets_seconds = (9.0,)

    found = served(ScrapedPrometheus(), minutes=5, change=move)
    assert found.mean_seconds < 15 * 3.1 / 15
    later = served(ScrapedPrometheus(), minutes=20, change=move)
    assert later.mean_seconds < 0.8


def test_the_next_samples_of_the_plans_in_use_are_known():
    async def scenario():
        loop = asyncio.get_running_loop()
        prometheus = ScrapedPrometheus()
        scrapes = KnownScrapes(prometheus, monotonic=loop.time)
        shared = SharedEvaluations(
            prometheus, freshness=Freshness(), scrapes=scrapes, monotonic=loop.time
        )
        assert scrapes.next_visible(0.0) == float("inf")
        while loop.time() < LEARNED_SECONDS:
            await shared.evaluate(WIDE)
            await virtual_time.passes(0.5)
        in_use = scrapes.next_visible(loop.time())
        return in_use, scrapes.next_visible(loop.time() + 60)

    in_use, not_in_use = virtual_time.run(scenario())
    assert in_use == pytest.approx(79.3 + 0.1, abs=0.03)
    assert not_in_use == float("inf")


def test_neither_the_own_query_of_a_request_nor_one_that_is_long_or_reads_very_much_is_observed():
    async def scenario():
        loop = asyncio.get_running_loop()
        prometheus = ScrapedPrometheus()
        scrapes = KnownScrapes(prometheus, monotonic=loop.time)
        own = Plan(WIDE.query)
        values = "x" * QUERY_BYTES_MAX
        long = Plan(WIDE.query.replace('""', f'"{values}"'), key_labels=WIDE.key_labels)
        result = Evaluation(samples=(), evaluated_at_seconds=0.0)
        large = Evaluation(samples=(), evaluated_at_seconds=0.0, cost=Cost(samples=1_000_000))
        for seconds in range(100):
            scrapes.evaluated(own, result, float(seconds))
            scrapes.evaluated(long, result, float(seconds))
            scrapes.evaluated(WIDE, large, float(seconds))
            await virtual_time.passes(0.1)
        return prometheus.observations

    assert virtual_time.run(scenario()) == 0


def test_the_plans_that_were_evaluated_last_are_kept():
    """Although all of them are read for the beginning of each round."""
    scrapes = KnownScrapes(ScrapedPrometheus(), monotonic=lambda: 0.0)
    plans = [Plan(f"m{number}", key_labels=("queue",)) for number in range(PLANS_MAX + 1)]
    result = Evaluation(samples=(), evaluated_at_seconds=0.0)
    for each in plans[:-1]:
        scrapes.evaluated(each, result, sent_seconds=0.0)
    scrapes.evaluated(plans[0], result, sent_seconds=100.0)
    scrapes.next_visible(100.0)
    scrapes.evaluated(plans[-1], result, sent_seconds=100.0)
    assert (plans[0] in scrapes._known, plans[1] in scrapes._known) == (True, False)


class ImplausiblePrometheus(ScrapedPrometheus):
    """Its samples are of times that no server can have scraped at."""

    def __init__(self, newest_seconds, count):
        super().__init__()
        self.newest_seconds, self.count = list(newest_seconds), count

    async def evaluate(self, plan, sending=FOR_AUTOSCALER):
        found = await super().evaluate(plan, sending)
        if plan == WIDE:
            return found
        newest_seconds = self.newest_seconds.pop(0)
        values = {NEWEST: newest_seconds, OLDEST: newest_seconds, COUNT: self.count}
        now_seconds = found.evaluated_at_seconds
        rows = tuple(Sample({OF: of}, each, now_seconds) for of, each in values.items())
        return msgspec.structs.replace(found, samples=rows)


@pytest.mark.parametrize(
    ("newest_seconds", "count"),
    [
        pytest.param((-1.7e308, -1.0e308), 1920.0, id="infinitely many intervals ago"),
        pytest.param((AHEAD_SECONDS, AHEAD_SECONDS + 60), 1.7e308, id="without a pause"),
    ],
)
def test_scrapes_at_times_that_no_server_can_have_are_not_learned(newest_seconds, count):
    async def scenario():
        loop = asyncio.get_running_loop()
        prometheus = ImplausiblePrometheus(newest_seconds, count)
        scrapes = KnownScrapes(prometheus, monotonic=loop.time)
        shared = SharedEvaluations(
            prometheus, freshness=Freshness(), scrapes=scrapes, monotonic=loop.time
        )
        while loop.time() < LEARNED_SECONDS:
            await shared.evaluate(WIDE)
            await virtual_time.passes(0.5)
        return scrapes.of(WIDE), scrapes.next_visible(loop.time())

    assert virtual_time.run(scenario()) == (None, float("inf"))
