"""What a round does not evaluate, so that it costs Prometheus little and ends soon."""

import asyncio
from collections import Counter

import msgspec
import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.config import parse as parse_configuration
from adapter.documents import paths
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import (
    BackendRef,
    Evaluation,
    Freshness,
    GroupResource,
    KubeObject,
    MetricEntry,
    Offer,
    Sample,
)
from adapter.ports import QueryFailed
from adapter.promql.row_selection import indexed
from adapter.watching.rounds import ANSWER_SECONDS, OWN_QUERY_ROUNDS, Rounds
from adapter.watching.sources import LISTING_SECONDS, REFUSED_SECONDS, NotEvaluated, Sources
from adapter.wide.plans import WidePlans
from tests.fakes import virtual_time
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus, vector
from tests.unit.adapter.watching.test_rounds import World, request
from wire.api.status import Unavailable

PODS = GroupResource("pods")
NAMED = parse_configuration(
    "metrics: [{name: load, describes: pods, query: 'sum by (namespace, pod) (load)'}]"
).rules[0]
EXTERNAL = parse_configuration(
    "externalRules: [{seriesQuery: queue, resources: {template: '<<.Resource>>'},"
    " metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (namespace)'}]"
).rules[0]
DEPTH = parse_configuration("metrics: [{name: depth, query: 'sum(depth)'}]").rules[0]
OBJECTS = [
    KubeObject(name=f"web-{number}", namespace=f"ns{number}", labels={}) for number in range(100)
]


def load_of(number):
    """The metric of all pods of a namespace."""
    subject = f"namespaces/ns{number}/pods/*/load"
    return paths.metric("custom.metrics.k8s.io", "v1beta2", subject, [])


def answers_of(prometheus, objects=None, **options):
    on_a = msgspec.structs.replace(EXTERNAL, backend=BackendRef("a"))
    offers = {"queue": Offer(on_a, "queue"), "depth": Offer(DEPTH)}
    return Answers(
        evaluator=prometheus,
        objects=objects or FakeObjects({PODS: OBJECTS}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(
            catalog=FakeCatalog({MetricEntry(PODS, True, "load"): Offer(NAMED)}, offers), **options
        ),
    )


def codes(watched):
    return dict(Counter(each.code for each in watched))


async def test_what_needs_an_own_query_in_several_rounds_is_refused_for_a_while():
    world = World(own_queries_max=1)
    world.answers.alone = {"a", "b"}
    first, second, shared = (world.rounds.watch(request(name)) for name in ("a", "b", "c"))
    for _ in range(OWN_QUERY_ROUNDS + 2):
        await world.rounds.round()
        assert (first.code, second.code, shared.code) == (200, 429, 200)
    assert world.answers.requested.count("b") == OWN_QUERY_ROUNDS
    world.seconds += REFUSED_SECONDS
    world.answers.alone = {"a"}
    await world.rounds.round()
    assert second.code == 200


async def test_a_request_that_needs_no_own_query_any_more_is_served_in_the_next_round():
    world = World(own_queries_max=1)
    world.answers.alone = {"a", "b"}
    _, second = (world.rounds.watch(request(name)) for name in ("a", "b"))
    await world.rounds.round()
    world.answers.alone = {"a"}
    await world.rounds.round()
    assert second.code == 200


async def test_those_with_an_own_query_in_the_last_round_keep_their_place():
    world = World(own_queries_max=1)
    world.answers.alone = {"b"}
    first, second = (world.rounds.watch(request(name)) for name in ("a", "b"))
    await world.rounds.round()
    world.answers.alone = {"a", "b"}
    await world.rounds.round()
    assert (first.code, second.code) == (429, 200)


def test_one_query_that_answers_many_requests_counts_once():
    async def scenario():
        monotonic = asyncio.get_running_loop().time
        rows = [({"namespace": each.namespace, "pod": each.name}, 1.0) for each in OBJECTS]
        prometheus = FakePrometheus(otherwise=vector(*rows))
        shared = SharedEvaluations(prometheus, freshness=Freshness(), monotonic=monotonic)
        rounds = Rounds(answers_of(shared).answer, monotonic=monotonic)
        watched = [rounds.watch(load_of(number)) for number in range(100)]
        await rounds.round()
        assert (codes(watched), len(prometheus.requested)) == ({200: 100}, 1)

    virtual_time.run(scenario())


class Namespaces:
    """Has a row for each namespace that a query names."""

    def __init__(self):
        self.sent = 0

    async def evaluate(self, plan, sending=None):
        self.sent += 1
        await virtual_time.passes(0.005)
        named = [f"ns{number}" for number in range(300) if f"ns{number}" in plan.query]
        rows = tuple(Sample({"namespace": each}, 1.0, 0.0) for each in named)
        return indexed(Evaluation(samples=rows, evaluated_at_seconds=0.0), plan.key_labels)


def test_after_a_reload_a_rule_with_a_wide_query_is_served_again_from_the_second_round_on():
    async def scenario():
        monotonic = asyncio.get_running_loop().time
        prometheus = Namespaces()
        shared = SharedEvaluations(prometheus, freshness=Freshness(), monotonic=monotonic)
        wide = WidePlans(shared, freshness=Freshness(), fresh=shared.fresh, monotonic=monotonic)
        rounds = Rounds(answers_of(shared, wide_plans=wide).answer, monotonic=monotonic)
        watched = [rounds.watch(request(namespace=f"ns{number}")) for number in range(300)]
        await rounds.round()
        assert prometheus.sent <= 12
        for _ in range(3):
            await virtual_time.passes(1.1)
            await rounds.round()
            assert codes(watched) == {200: 300}

    virtual_time.run(scenario())


class Failing:
    """Backend `a` fails after a while; the other one has a value at once."""

    def __init__(self, seconds):
        self.seconds = seconds

    async def evaluate(self, plan, sending=None):
        if plan.backend.name != "a":
            return vector(({}, 1.0))
        await virtual_time.passes(self.seconds)
        raise QueryFailed(backend="a", query=plan.query, cause="HTTP 502", retryable=True)


@pytest.mark.parametrize("own_queries_max", [10, 100_000])
def test_a_backend_that_fails_soon_does_not_delay_the_metrics_of_others(own_queries_max):
    async def scenario():
        loop = asyncio.get_running_loop()
        answers = answers_of(Failing(0.15))
        rounds = Rounds(answers.answer, own_queries_max=own_queries_max, monotonic=loop.time)
        watched = [rounds.watch(request(namespace=f"ns{number}")) for number in range(2_000)]
        depth = rounds.watch(request("depth"))
        for _ in range(3):
            began_at = loop.time()
            await rounds.round()
            assert loop.time() - began_at < 1.0
        assert depth.code == 200
        assert codes(watched).keys() == {500, 429}
        assert b"send a GET" in watched[-1].body

    virtual_time.run(scenario())


class NotANumber:
    """Has NaN for some namespaces, and takes a while for every query."""

    async def evaluate(self, plan, sending=None):
        await virtual_time.passes(0.15)
        return vector(({}, 1.0 if "good" in plan.query else float("nan")))


def test_values_that_cannot_be_used_are_not_a_failure_of_prometheus():
    async def scenario():
        loop = asyncio.get_running_loop()
        rounds = Rounds(answers_of(NotANumber()).answer, own_queries_max=1_000, monotonic=loop.time)
        names = [*(f"bad{number}" for number in range(300)), *(f"good{n}" for n in range(9))]
        watched = [rounds.watch(request(namespace=name)) for name in names]
        for _ in range(2):
            await rounds.round()
            assert codes(watched) == {500: 300, 200: 9}

    virtual_time.run(scenario())


@pytest.mark.parametrize(
    ("began_seconds", "succeeded_seconds", "is_refused"), [(0.0, 0.6, False), (0.0, 0.1, True)]
)
def test_a_backend_fails_since_its_last_success_even_if_an_older_request_fails(
    began_seconds, succeeded_seconds, is_refused
):
    sources = Sources()
    sources.succeeded("pods", succeeded_seconds)
    sources.failed("pods", began_seconds, 0.7)
    if is_refused:
        with pytest.raises(NotEvaluated, match="has failed for other metrics"):
            sources.check("pods", 0.7)
    else:
        sources.check("pods", 0.7)


class Listing:
    """Takes some time for every list of objects."""

    def __init__(self, seconds):
        self.seconds = seconds

    async def objects(self, *_, **__):
        await virtual_time.passes(self.seconds)
        if self.seconds:
            raise Unavailable("the list fails")
        return OBJECTS[:1]


def test_a_list_of_objects_that_hangs_does_not_delay_other_metrics():
    async def scenario():
        loop = asyncio.get_running_loop()
        rows = vector(({"namespace": "ns0", "pod": "web-0"}, 1.0))
        objects = Listing(LISTING_SECONDS[0])
        answers = answers_of(FakePrometheus(otherwise=rows), objects)
        rounds = Rounds(answers.answer, monotonic=loop.time)
        watched = [rounds.watch(load_of(0)), *(rounds.watch(load_of(n)) for n in range(1, 2_000))]
        depth = rounds.watch(request("depth"))
        began_at = loop.time()
        await rounds.round()
        assert loop.time() - began_at <= ANSWER_SECONDS
        assert codes(watched) == {429: 2_000}
        assert b"the list of pods takes too long" in watched[0].body
        assert depth.code == 200
        objects.seconds = 0.0
        await virtual_time.passes(LISTING_SECONDS[0])
        await rounds.round()
        assert watched[0].code == 200, "the first list may take longer than a round waits"

    virtual_time.run(scenario())
