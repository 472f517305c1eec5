"""What a round evaluates, and which responses count as changed."""

import asyncio
from datetime import UTC, datetime

import pytest
from prometheus_client import REGISTRY

from adapter import telemetry
from adapter.answer import ActiveConfiguration, Answers
from adapter.config import parse as parse_configuration
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import (
    BackendRef,
    Evaluation,
    ExternalMetricRequest,
    Freshness,
    MetricQuery,
    Offer,
    Plan,
    Rows,
)
from adapter.watching.rounds import CONCURRENT, PAUSE_SECONDS_MAX, Rounds
from tests.fakes import virtual_time
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus
from wire.api.external_metrics import ExternalMetricValue, ExternalMetricValueList
from wire.api.labels import parse
from wire.api.status import Unavailable, not_found


def request(metric="queue", namespace="shop"):
    return ExternalMetricRequest(namespace=namespace, metric=metric, selector=parse(""))


def document(value, second=0, labels=None):
    at = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
    value = ExternalMetricValue(metric_labels=labels, timestamp=at, value=value)
    return ExternalMetricValueList(items=[value])


def query_of(metric, backend="default"):
    rule = parse_configuration(f"metrics: [{{name: {metric}, query: up}}]").rules[0]
    plan = Plan(metric, BackendRef(backend))
    return MetricQuery(plan=plan, rows=Rows(), contract=rule.contract, rule=rule.path)


class FakeAnswers:
    """Responds with what the test has set for a metric; counts the requests."""

    def __init__(self):
        self.responses = {}
        self.alone = set()
        self.requested = []

    async def answer(self, requested, observer):
        metric = requested.request.metric
        self.requested.append(metric)
        observer.query_built(query_of(metric))
        response = self.responses.get(metric, document("1"))
        if isinstance(response, Exception):
            raise response
        if metric in self.alone:
            observer.needs_own_query()
        return response


class Client:
    """A listener that notes what happens."""

    def __init__(self):
        self.log = []

    def round_begins(self):
        self.log.append("begins")

    def round_ended(self):
        self.log.append("ended")


class World:
    def __init__(self, **options):
        self.answers, self.client, self.seconds = FakeAnswers(), Client(), 1000.0
        self.rounds = Rounds(self.answers.answer, monotonic=lambda: self.seconds, **options)
        self.rounds.join(self.client)


async def test_equal_requests_of_several_clients_are_evaluated_once_per_round():
    world = World()
    first, second = world.rounds.watch(request()), world.rounds.watch(request())
    assert first is second
    await world.rounds.round()
    assert world.answers.requested == ["queue"]
    world.rounds.release(first)
    await world.rounds.round()
    assert len(world.answers.requested) == 2
    world.rounds.release(second)
    await world.rounds.round()
    assert len(world.answers.requested) == 2, "nothing is watched any more"
    assert world.client.log == ["begins", "ended"] * 3


@pytest.mark.parametrize(("requests", "tasks"), [(0, 0), (1, 1), (3, 3), (1_000, CONCURRENT)])
async def test_a_round_has_no_more_tasks_than_requests(requests, tasks):
    before, most = len(asyncio.all_tasks()), 0

    async def answer(requested, observer):
        nonlocal most
        await asyncio.sleep(0)
        most = max(most, len(asyncio.all_tasks()) - before)
        return await FakeAnswers().answer(requested, observer)

    rounds = Rounds(answer)
    for number in range(requests):
        rounds.watch(request(f"queue{number}"))
    await rounds.round()
    assert most == tasks


async def test_a_new_user_of_a_watched_request_gets_the_timestamps_of_its_first_round():
    world = World()
    first = world.rounds.watch(request())
    await world.rounds.round()
    version, before, world.answers.responses["queue"] = first.version, first.body, document("1", second=20)  # fmt: skip
    await world.rounds.round()
    assert first.body == before
    world.rounds.watch(request())
    await world.rounds.round()
    assert (first.version, b"00:00:20" in first.body) == (version, True)


@pytest.mark.parametrize(
    ("first", "second", "changes"),
    [
        pytest.param(document("1"), document("1", second=1), False, id="only the timestamp"),
        pytest.param(document("1"), document("2"), True, id="value"),
        pytest.param(document("1"), document("1", labels={"a": "b"}), True, id="labels"),
        pytest.param(document("1"), ExternalMetricValueList(), True, id="no value any more"),
        pytest.param(document("1"), not_found("no metric"), True, id="a failure"),
        pytest.param(Unavailable("away"), Unavailable("away"), False, id="the same failure"),
        pytest.param(Unavailable("away"), Unavailable("gone"), True, id="another failure"),
    ],
)
async def test_a_response_has_changed_if_more_than_its_timestamps_differ(first, second, changes):
    world = World()
    watched = world.rounds.watch(request())
    world.answers.responses["queue"] = first
    await world.rounds.round()
    body, version = watched.body, watched.version
    world.answers.responses["queue"] = second
    await world.rounds.round()
    assert (watched.version != version, watched.body != body) == (changes, changes)


async def test_a_failure_has_the_status_of_a_get():
    world = World()
    watched = world.rounds.watch(request())
    world.answers.responses["queue"] = Unavailable("Prometheus is away")
    await world.rounds.round()
    assert watched.code == 503
    assert b"Prometheus is away" in watched.body


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(ZeroDivisionError("bug"), id="raises"),
        pytest.param(document(object()), id="cannot be encoded"),
        pytest.param("no document", id="another type"),
    ],
)
async def test_a_bug_in_one_evaluation_does_not_end_the_others(response):
    world = World()
    broken, healthy = world.rounds.watch(request("broken")), world.rounds.watch(request())
    world.answers.responses["broken"] = response
    before = telemetry.CRASHES._value.get()
    await world.rounds.round()
    assert (broken.code, healthy.code) == (500, 200)
    assert telemetry.CRASHES._value.get() == before + 1


def test_while_prometheus_fails_no_more_queries_than_the_limit_are_sent_in_each_round():
    [rule] = parse_configuration(
        "externalRules: [{seriesQuery: queue, metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})',"
        " resources: {template: '<<.Resource>>'}}]"
    ).rules
    prometheus = FakePrometheus()
    answers = Answers(
        evaluator=prometheus,
        objects=FakeObjects({}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(catalog=FakeCatalog({}, {"queue": Offer(rule, "queue")})),
    )

    async def scenario():
        monotonic = asyncio.get_running_loop().time
        rounds = Rounds(answers.answer, own_queries_max=1, monotonic=monotonic)
        watched = [rounds.watch(request(namespace=each)) for each in ("a", "b", "c")]
        await rounds.round()
        assert [each.code for each in watched] == [500, 429, 429]
        prometheus.requested.clear()
        await rounds.round()
        assert len(prometheus.requested) == 1

    virtual_time.run(scenario())


async def test_what_is_watched_during_a_round_is_evaluated_in_the_next_one():
    world = World()

    async def answer(requested, _):
        world.rounds.watch(request("later"))
        return document("1")

    world.rounds = Rounds(answer)
    world.rounds.watch(request())
    await world.rounds.round()
    assert world.rounds.watch(request("later")).version == 0
    await world.rounds.round()
    assert world.rounds.watch(request("later")).version == 1


@pytest.mark.parametrize(
    ("round_seconds", "busy_seconds", "expected_seconds"),
    [
        pytest.param(0.0, 0.01, 1.1, id="the period"),
        pytest.param(0.0, 0.5, 1.5, id="three times the CPU time of the round"),
        pytest.param(0.0, 10.0, PAUSE_SECONDS_MAX, id="the longest pause"),
        pytest.param(
            1.75, 1.75, 1.75 + 1.0, id="what the next round needs to confirm responses in time"
        ),
        pytest.param(
            3.0, 3.0, 3.0 + PAUSE_SECONDS_MAX, id="the next round cannot confirm them in time"
        ),
    ],
)
def test_rounds_that_take_much_cpu_time_follow_each_other_more_slowly(
    round_seconds, busy_seconds, expected_seconds
):
    busy = iter([0.0, busy_seconds, 0.0, busy_seconds])
    began = []

    async def answer(*_):
        began.append(asyncio.get_running_loop().time())
        await virtual_time.passes(round_seconds)
        return document("1")

    async def scenario():
        loop = asyncio.get_running_loop()
        rounds = Rounds(
            answer,
            period_seconds=1.1,
            answer_seconds=10.0,
            monotonic=loop.time,
            busy_seconds=lambda: next(busy),
        )
        rounds.watch(request())
        rounds.join(Client())
        running = asyncio.create_task(rounds.run())
        while len(began) < 2:
            await virtual_time.passes(0.01)
        running.cancel()

    virtual_time.run(scenario())
    assert began[1] - began[0] == pytest.approx(expected_seconds)


def test_the_time_of_each_round_is_counted():
    async def answer(*_):
        await virtual_time.passes(0.25)
        return document("1")

    def counted():
        return (
            REGISTRY.get_sample_value("loadline_adapter_round_duration_seconds_count"),
            REGISTRY.get_sample_value("loadline_adapter_round_duration_seconds_sum"),
        )

    async def scenario():
        monotonic = asyncio.get_running_loop().time
        rounds = Rounds(answer, period_seconds=1.0, monotonic=monotonic, busy_seconds=lambda: 0.0)
        rounds.watch(request())
        rounds.join(Client())
        running = asyncio.create_task(rounds.run())
        await virtual_time.passes(0.5)
        running.cancel()

    count, seconds = counted()
    virtual_time.run(scenario())
    assert counted() == (count + 1, pytest.approx(seconds + 0.25))


@pytest.mark.parametrize(
    ("samples_at_seconds", "expected_seconds"),
    [
        pytest.param(0.7, 0.7, id="new samples before the round is due"),
        pytest.param(0.1, 1.1, id="so soon that the last round has most of them"),
        pytest.param(5.0, 1.1, id="no new samples yet"),
    ],
)
def test_a_round_begins_as_soon_as_there_are_new_samples(samples_at_seconds, expected_seconds):
    began = []

    async def answer(*_):
        began.append(asyncio.get_running_loop().time())
        return document("1")

    async def scenario():
        loop = asyncio.get_running_loop()
        rounds = Rounds(
            answer,
            period_seconds=1.1,
            monotonic=loop.time,
            busy_seconds=lambda: 0.0,
            next_samples=lambda after: (
                samples_at_seconds if after <= samples_at_seconds else float("inf")
            ),
        )
        rounds.watch(request())
        rounds.join(Client())
        running = asyncio.create_task(rounds.run())
        while len(began) < 2:
            await virtual_time.passes(0.01)
        running.cancel()

    virtual_time.run(scenario())
    assert began[1] - began[0] == pytest.approx(expected_seconds)


class TimedEvaluator:
    """Evaluates at the time of the event loop."""

    async def evaluate(self, plan, sending=None):
        return Evaluation(samples=(), evaluated_at_seconds=asyncio.get_running_loop().time())


def test_the_results_of_a_round_were_evaluated_in_it_not_before():
    """A result of before would be up to a second older, and so would a change of the metric."""
    ages = []

    async def scenario():
        loop = asyncio.get_running_loop()
        shared = SharedEvaluations(TimedEvaluator(), freshness=Freshness(), monotonic=loop.time)

        async def answer(*_):
            began_at = loop.time()
            evaluation = await shared.evaluate(Plan("up"))
            ages.append(began_at - evaluation.evaluated_at_seconds)
            return document(str(len(ages)))

        rounds = Rounds(answer, monotonic=loop.time, busy_seconds=lambda: 0.0)
        rounds.watch(request())
        rounds.join(Client())
        running = asyncio.create_task(rounds.run())
        while len(ages) < 10:
            await virtual_time.passes(0.01)
        running.cancel()

    virtual_time.run(scenario())
    assert ages == [0.0] * 10
