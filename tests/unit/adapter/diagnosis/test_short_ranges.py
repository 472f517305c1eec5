"""Ranges that are compared with the scrape interval of their series."""

import pytest

from adapter.diagnosis.short_ranges import short_ranges
from adapter.model import FOR_AUTOSCALER, BackendRef, Evaluation, Plan, Sending
from adapter.ports import QueryFailed
from tests.fakes.adapter import FakePrometheus, vector

RATE = 'sum by (pod) (rate(requests_total{namespace="shop"}[1m]))'


class ScrapedEach(FakePrometheus):
    """Its series have a sample each so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        self.answers[plan.query] = vector(({}, self._seconds))
        return await super().evaluate(plan, sending)


async def found(prometheus: FakePrometheus, *queries: str) -> list[tuple[str, str]]:
    findings = await short_ranges(prometheus, BackendRef(), queries)
    return [(each.message, each.fix) for each in findings]


@pytest.mark.parametrize(
    ("seconds", "is_short"), [(15, False), (30, False), (31, True), (60, True)]
)
async def test_a_range_must_have_two_scrape_intervals(seconds, is_short):
    assert bool(await found(ScrapedEach(seconds), RATE)) == is_short


async def test_the_message_has_both_and_the_fix_has_a_range_that_fits():
    [(message, fix)] = await found(ScrapedEach(60), RATE)
    assert message.startswith(
        'the range [1m] of requests_total{namespace="shop"} is shorter than two scrape intervals (one sample every 1m)'
    )
    assert fix.startswith("Use [4m]")


async def test_each_selector_is_compared_with_its_shortest_range():
    query = "sum(rate(a_total[5m])) / sum(rate(a_total[1m])) + sum(rate(b_total[10m]))"
    prometheus = ScrapedEach(60)
    messages = [message for message, _ in await found(prometheus, query)]
    assert len(prometheus.requested) == 2
    assert [message.split(" is ")[0] for message in messages] == ["the range [1m] of a_total"]


@pytest.mark.parametrize("query", ["up", "max_over_time(up[5m:1m])", "rate(", "sum by (pod) (up)"])
async def test_a_query_without_a_range_of_samples_is_not_compared(query):
    prometheus = ScrapedEach(3600)
    assert await found(prometheus, query) == []
    assert prometheus.requested == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(vector(), id="no series has two samples"),
        pytest.param(
            QueryFailed(backend="", query="", cause="too many samples", retryable=False),
            id="failed",
        ),
    ],
)
async def test_without_an_interval_there_is_no_finding(answer):
    prometheus = FakePrometheus()
    await found(prometheus, RATE)
    prometheus.answers = {prometheus.requested[0].query: answer}
    assert await found(prometheus, RATE) == []
