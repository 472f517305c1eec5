"""Every selector is listed by itself: what fails keeps what it knew and is tried again soon."""

import asyncio
import logging
import threading

import pytest

from adapter.fetch.catalog import DiscoveredCatalog, Listing, Selection, Times
from adapter.model import (
    PODS,
    DiscoveryRule,
    GroupResource,
    MetricEntry,
    NamedRule,
    Reaction,
    ResourceLabels,
    Series,
    SignalContract,
)
from adapter.ports import QueryFailed
from tests.fakes.adapter import CORE_KINDS, FakeMapping, FakePrometheus, Kind

CONTRACT = SignalContract(on_empty=Reaction.FAIL, on_nan=Reaction.FAIL, on_partial=Reaction.FAIL)
TIMES = Times(relist_seconds=600.0, max_age_seconds=700.0)
DOWN = QueryFailed(backend="default", query="", cause="connection refused", retryable=True)
WRONG = QueryFailed(backend="default", query="", cause="bad_data: unexpected }", retryable=False)
LABELS = frozenset({"namespace", "pod"})
ROOM_ENTRY = MetricEntry(PODS, True, "requests")


def rule(path: str = "rules[0]", query: str = "requests", **changes: object) -> DiscoveryRule:
    settings = {
        "path": path,
        "external": False,
        "series_query": query,
        "resources": ResourceLabels(template="<<.Resource>>"),
        "metrics_query": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
        "contract": CONTRACT,
        **changes,
    }
    return DiscoveryRule(**settings)


class BackgroundTasks:
    """A running catalog whose sleeps the test ends."""

    def __init__(self, rules, prometheus, mapping=None, **more) -> None:
        self.slept: list[float] = []
        self._wake = asyncio.Event()
        self._asleep = asyncio.Event()
        self.catalog = DiscoveredCatalog(
            rules, prometheus, mapping or FakeMapping(), TIMES, sleep=self._sleep, **more
        )
        self.task = asyncio.create_task(self.catalog.run())

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._asleep.set()
        await self._wake.wait()

    async def round(self) -> None:
        """Let everybody who sleeps list once more."""
        self._asleep.clear()
        self._wake.set()
        self._wake = asyncio.Event()
        await asyncio.wait_for(self._asleep.wait(), 5)


@pytest.fixture
async def upkeep():
    running = []

    def started(*arguments, **more) -> BackgroundTasks:
        running.append(BackgroundTasks(*arguments, **more))
        return running[-1]

    yield started
    for each in running:
        each.task.cancel()
    await asyncio.gather(*(each.task for each in running), return_exceptions=True)


async def test_what_is_in_prometheus_is_offered(upkeep):
    kept = upkeep([rule()], FakePrometheus(series={"requests": [Series("requests", LABELS)]}))
    await kept.catalog.tried()
    assert kept.catalog.custom_entries() == [
        MetricEntry(GroupResource("namespaces"), False, "requests"),
        ROOM_ENTRY,
    ]
    offer = kept.catalog.custom(ROOM_ENTRY)
    assert offer
    assert (offer.rule.path, offer.series) == ("rules[0]", "requests")
    assert kept.slept == [600.0]


async def test_external_and_named_metrics_are_offered_too(upkeep):
    named = NamedRule(path="metrics[0]", name="queue", query="sum(queue)", contract=CONTRACT)
    external = rule("externalRules[0]", "jobs", external=True)
    prometheus = FakePrometheus(series={"jobs": [Series("jobs")]})
    kept = upkeep([external, named], prometheus)
    assert kept.catalog.external_metrics() == ["queue"]
    await kept.catalog.tried()
    assert kept.catalog.external_metrics() == ["jobs", "queue"]


async def test_rules_with_the_same_selector_share_a_request(upkeep):
    prometheus = FakePrometheus(series={"requests": []})
    other_backend = rule("rules[2]", backend="second")
    kept = upkeep([rule(), rule("rules[1]"), other_backend], prometheus)
    await kept.catalog.tried()
    assert sorted(prometheus.matched) == [
        ("requests", "default", 700.0),
        ("requests", "second", 700.0),
    ]


async def test_one_broken_rule_takes_no_other_down(upkeep):
    prometheus = FakePrometheus(series={"a": WRONG, "b": [Series("b", LABELS)]})
    kept = upkeep([rule("rules[0]", "a"), rule("rules[1]", "b")], prometheus)
    await kept.catalog.tried()
    assert kept.catalog.custom(MetricEntry(PODS, True, "b"))
    [gap] = kept.catalog.gaps()
    assert (gap.rule, gap.cause, gap.temporary) == ("rules[0]", "bad_data: unexpected }", False)


async def test_prometheus_that_is_down_at_the_start_is_asked_again_soon(upkeep):
    prometheus = FakePrometheus(series={"requests": DOWN})
    kept = upkeep([rule()], prometheus)
    assert [gap.temporary for gap in kept.catalog.gaps()] == [True]
    await kept.catalog.tried()
    for _ in range(6):
        await kept.round()
    assert kept.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    prometheus.known_series["requests"] = [Series("requests", LABELS)]
    await kept.round()
    assert kept.catalog.custom(ROOM_ENTRY)
    assert kept.catalog.gaps() == []
    assert kept.slept[-1] == 600.0


async def test_what_was_known_is_kept_when_prometheus_goes_down(upkeep):
    prometheus = FakePrometheus(series={"requests": [Series("requests", LABELS)]})
    kept = upkeep([rule()], prometheus)
    await kept.catalog.tried()
    prometheus.known_series["requests"] = DOWN
    await kept.round()
    assert kept.catalog.custom(ROOM_ENTRY)
    assert kept.slept == [600.0, 1.0]


async def test_series_that_vanish_leave_the_list(upkeep):
    prometheus = FakePrometheus(series={"requests": [Series("requests", LABELS)]})
    kept = upkeep([rule()], prometheus)
    await kept.catalog.tried()
    prometheus.known_series["requests"] = []
    await kept.round()
    assert kept.catalog.custom_entries() == []


async def test_a_new_configuration_starts_with_what_the_former_knew(upkeep):
    known = {Selection("default", "requests"): Listing([Series("requests", LABELS)], attempts=1)}
    prometheus = FakePrometheus(series={"requests": DOWN})
    kept = upkeep([rule()], prometheus, known=known)
    assert kept.catalog.custom(ROOM_ENTRY)


async def test_a_resource_that_comes_later_is_offered_when_it_has_come(upkeep):
    mapping = FakeMapping()
    series = [Series("requests", LABELS | {"unicorn"})]
    kept = upkeep([rule()], FakePrometheus(series={"requests": series}), mapping)
    await kept.catalog.tried()
    assert len(kept.catalog.custom_entries()) == 2
    mapping.kinds = [*CORE_KINDS, Kind("unicorns", "unicorn", "Unicorn", group="example.com")]
    await kept.catalog.rebuild()
    assert len(kept.catalog.custom_entries()) == 3


class Elsewhere(FakeMapping):
    """Remembers whether it was asked beside the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []

    def resource_for(self, resource: GroupResource) -> GroupResource:
        self.threads.append(threading.get_ident())
        return super().resource_for(resource)


async def test_offers_are_made_beside_the_questions_and_not_between_them(upkeep):
    mapping = Elsewhere()
    series = {"requests": [Series("requests", LABELS)]}
    kept = upkeep([rule()], FakePrometheus(series=series), mapping)
    await kept.catalog.tried()
    assert kept.catalog.custom(ROOM_ENTRY)
    assert mapping.threads
    assert threading.get_ident() not in mapping.threads


async def test_the_log_speaks_when_something_changes_and_only_then(upkeep, caplog):
    caplog.set_level(logging.INFO)
    prometheus = FakePrometheus(series={"requests": DOWN})
    kept = upkeep([rule()], prometheus)
    await kept.catalog.tried()
    await kept.round()
    await kept.round()
    prometheus.known_series["requests"] = [Series("requests", LABELS)]
    await kept.round()
    await kept.round()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "rules[0]: series cannot be listed" in caplog.messages[0]
    assert "again" in caplog.messages[1]
