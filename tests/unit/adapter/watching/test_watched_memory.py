"""What is watched takes no more memory than is counted, and its queries are not built again in each round."""

import gc

import pytest

from adapter.answer import ActiveConfiguration, MetricPaths
from adapter.caches import MIB
from adapter.config import parse as parse_configuration
from adapter.model import Offer
from adapter.watching.endpoint import REVIEW_WAIT_SECONDS, _Stream
from adapter.watching.rounds import Rounds
from tests.fakes.adapter import FakeCatalog
from tests.traced_memory import traced_memory
from tests.unit.adapter.watching.test_rounds import document, query_of
from wire.api import external_metrics
from wire.api.metric_stream import StreamRequest, WatchedPath
from wire.api.status import forbidden
from wire.process.byte_budget import ByteBudget
from wire.serving.attributes import User

OFFER = Offer(parse_configuration("metrics: [{name: queue, query: up}]").rules[0])
ACTIVE = ActiveConfiguration(catalog=FakeCatalog(), groups=(external_metrics.GROUP,))
PATH = f"/apis/{external_metrics.GROUP}/v1beta1/namespaces/ns{{}}/queue"


class Adapter:
    """A stream that is not connected. Each request has a query of its own, with a text of `query_length`."""

    def __init__(self, *, paths_bytes_max=0, query_length=0, labels=(), own_queries_max=10_000):
        self.paths = MetricPaths(lambda: ACTIVE, bytes_max=paths_bytes_max)
        self.budget = ByteBudget(400 * MIB)
        self.rounds = Rounds(self.answer, budget=self.budget, own_queries_max=own_queries_max)
        self.stream = _Stream(
            None,
            self.rounds,
            self.paths.of_url,
            User(name="scaler"),
            self,
            REVIEW_WAIT_SECONDS,
            lambda: self.seconds,
        )
        self.query_length, self.labels = query_length, labels
        self.built, self.is_forbidden = 0, False
        self.seconds = 0.0

    async def authorize(self, _, attributes):
        if self.is_forbidden:
            raise forbidden(f"{attributes.resource} is forbidden")

    async def answer(self, known, observer):
        number = known.request.namespace.removeprefix("ns")
        query = known.query(OFFER)
        if query is None:
            self.built += 1
            query = query_of(number + "q" * self.query_length)
            known.keep(OFFER, (), query)
        observer.query_built(query)
        observer.needs_own_query()
        labels = {f"{name}{number}": number for name in self.labels}
        return document(number, labels=labels)

    async def watch(self, numbers, query=""):
        for number in numbers:
            path = WatchedPath(id=number, path=PATH.format(number) + query)
            self.stream._apply(StreamRequest(now=0.0, watch=(path,)))
        await self.stream._check_rights()

    @property
    def codes(self):
        return {each.watched.code for each in self.stream._paths.values()}


@pytest.mark.parametrize(
    ("query", "options"),
    [
        pytest.param("", {}, id="a short path"),
        pytest.param(f"?pretty={'a' * 50_000}", {}, id="a long query string"),
        pytest.param(
            f"?labelSelector=a+in+({','.join(map(str, range(500)))})", {}, id="a selector"
        ),
        pytest.param("", {"query_length": 5_000}, id="a long PromQL query"),
        pytest.param("", {"labels": [f"l{number}_" for number in range(100)]}, id="labels"),
    ],
)
async def test_what_is_watched_takes_no_more_memory_than_is_counted(query, options):
    adapter = Adapter(**options)
    await adapter.watch([0], query)
    await adapter.rounds.round()
    counted_before = adapter.budget.taken
    with traced_memory() as memory:
        await adapter.watch(range(1_000, 1_200), query)
        await adapter.rounds.round()
        gc.collect()
        kept_bytes = memory.kept_bytes
    assert kept_bytes <= adapter.budget.taken - counted_before <= 3 * kept_bytes


async def test_the_queries_of_requests_that_are_refused_are_counted():
    adapter = Adapter(query_length=5_000, own_queries_max=1)
    await adapter.watch(range(100))
    await adapter.rounds.round()
    assert adapter.codes == {200, 429}
    assert adapter.budget.taken > 100 * 5_000
    adapter.stream.release()
    assert adapter.budget.taken == 0


async def test_a_query_for_which_there_is_no_memory_is_not_kept():
    adapter = Adapter(query_length=5_000)
    await adapter.watch(range(3))
    adapter.budget.take(400 * MIB - adapter.budget.taken - 10_000)
    await adapter.rounds.round()
    assert [each.watched.code for each in adapter.stream._paths.values()] == [200, 429, 429]
    assert [each.watched.known.query_bytes > 0 for each in adapter.stream._paths.values()] == [
        True,
        False,
        False,
    ]


async def test_the_query_of_what_is_watched_is_built_once_however_many_others_are_requested():
    adapter = Adapter(paths_bytes_max=100_000)
    await adapter.watch(range(1_000))
    for _ in range(3):
        await adapter.rounds.round()
    assert adapter.built == 1_000
    assert len(adapter.paths) < 100


async def test_paths_of_equal_requests_keep_one_of_them():
    """The first path may go: then the request is counted by the second one."""
    adapter = Adapter()
    await adapter.watch([1], "?labelSelector=a%3Db")
    path = WatchedPath(id=2, path=PATH.format(1) + "?labelSelector=a%3Db&pretty=1")
    adapter.stream._apply(StreamRequest(now=0.0, watch=(path,)))
    await adapter.stream._check_rights()
    first, second = adapter.stream._paths.values()
    assert first.request is second.request is second.watched.known.request
