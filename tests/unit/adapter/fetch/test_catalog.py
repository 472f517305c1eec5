"""Every selector is listed separately: one that fails keeps its series and is retried soon."""

import asyncio
import logging
import threading

import pytest
from prometheus_client import REGISTRY

from adapter import telemetry
from adapter.fetch.catalog import DiscoveredCatalog, Selection, Times
from adapter.fetch.known_series import Listing
from adapter.model import (
    PODS,
    BackendRef,
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
from tests.deadline import DEADLINE_SECONDS
from tests.fakes.adapter import CORE_KINDS, FakeMapping, FakePrometheus, Kind

CONTRACT = SignalContract(on_empty=Reaction.FAIL, on_nan=Reaction.FAIL, on_partial=Reaction.FAIL)
TIMES = Times(relist_seconds=600.0, max_age_seconds=700.0)
DOWN = QueryFailed(backend="default", query="", cause="connection refused", retryable=True)
WRONG = QueryFailed(backend="default", query="", cause="bad_data: unexpected }", retryable=False)
LABELS = frozenset({"namespace", "pod"})
SERIES_ENTRY = MetricEntry(PODS, True, "requests")


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


class RunningCatalog:
    """A running catalog whose sleeps the test ends."""

    def __init__(self, rules, prometheus, mapping=None, **more) -> None:
        self.slept: list[float] = []
        self.now_seconds = 1_000.0
        self.now_unix_seconds = 1_000_000.0
        self._wake = asyncio.Event()
        self._asleep = asyncio.Event()
        self.catalog = DiscoveredCatalog(
            rules, prometheus, mapping or FakeMapping(), TIMES,
            sleep=self._sleep, now=lambda: self.now_unix_seconds, monotonic=lambda: self.now_seconds, **more,
        )  # fmt: skip
        self.task = asyncio.create_task(self.catalog.run())

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._asleep.set()
        await self._wake.wait()

    async def round(self) -> None:
        """Let every loop that sleeps list once more."""
        self._asleep.clear()
        self._wake.set()
        self._wake = asyncio.Event()
        await self.asleep()

    async def asleep(self) -> None:
        """Wait until a loop sleeps."""
        await asyncio.wait_for(self._asleep.wait(), DEADLINE_SECONDS)


@pytest.fixture
async def running():
    running = []

    def started(*arguments, **more) -> RunningCatalog:
        running.append(RunningCatalog(*arguments, **more))
        return running[-1]

    yield started
    for each in running:
        each.task.cancel()
    await asyncio.gather(*(each.task for each in running), return_exceptions=True)


async def test_what_is_in_prometheus_is_offered(running):
    listing = running([rule()], FakePrometheus(series={"requests": [Series("requests", LABELS)]}))
    await listing.catalog.tried()
    assert listing.catalog.custom_entries() == [
        MetricEntry(GroupResource("namespaces"), False, "requests"),
        SERIES_ENTRY,
    ]
    offer = listing.catalog.custom(SERIES_ENTRY)
    assert offer
    assert (offer.rule.path, offer.series) == ("rules[0]", "requests")
    assert listing.slept == [600.0]


async def test_the_entries_of_one_metric_are_those_of_each_resource(running):
    series = [
        Series("requests", LABELS),
        Series("requests", frozenset({"node"})),
        Series("other", LABELS),
    ]
    listing = running([rule()], FakePrometheus(series={"requests": series}))
    await listing.catalog.tried()
    assert listing.catalog.entries_of("requests") == [
        MetricEntry(GroupResource("namespaces"), False, "requests"),
        MetricEntry(GroupResource("nodes"), False, "requests"),
        SERIES_ENTRY,
    ]
    assert listing.catalog.entries_of("missing") == []


@pytest.mark.deviation("order-of-lists")
async def test_external_and_named_metrics_are_offered_too(running):
    named = NamedRule(path="metrics[0]", name="queue", query="sum(queue)", contract=CONTRACT)
    external = rule("externalRules[0]", "jobs", external=True)
    prometheus = FakePrometheus(series={"jobs": [Series("jobs")]})
    listing = running([external, named], prometheus)
    assert listing.catalog.external_metrics() == ["queue"]
    await listing.catalog.tried()
    assert listing.catalog.external_metrics() == ["jobs", "queue"]


async def test_rules_with_the_same_selector_share_a_request(running):
    prometheus = FakePrometheus(series={"requests": []})
    other_backend = rule("rules[2]", backend=BackendRef("second"))
    listing = running([rule(), rule("rules[1]"), other_backend], prometheus)
    await listing.catalog.tried()
    assert sorted(prometheus.matched, key=str) == [
        ("requests", BackendRef(), 700.0),
        ("requests", BackendRef("second"), 700.0),
    ]


async def test_inserting_a_rule_does_not_change_the_labels_of_the_others(running):
    prometheus = FakePrometheus(series={"kept": [Series("kept")], "inserted": []})
    before = running([rule("rules[0]", "kept")], prometheus).catalog
    after = running([rule("rules[0]", "inserted"), rule("rules[1]", "kept")], prometheus).catalog
    exported = []
    for catalog in (before, after):
        await catalog.tried()
        catalog.publish()
        samples = [s for m in telemetry.DISCOVERED_SERIES.collect() for s in m.samples]
        exported.append({s.labels["series_query"]: (s.labels, s.value) for s in samples})
    assert exported[0]["kept"] == exported[1]["kept"]
    assert exported[1]["kept"] == ({"backend": "default", "series_query": "kept"}, 1)


@pytest.mark.deviation("rules-fail-alone")
async def test_a_broken_rule_does_not_affect_the_others(running):
    prometheus = FakePrometheus(series={"a": WRONG, "b": [Series("b", LABELS)]})
    listing = running([rule("rules[0]", "a"), rule("rules[1]", "b")], prometheus)
    await listing.catalog.tried()
    assert listing.catalog.custom(MetricEntry(PODS, True, "b"))
    [gap] = listing.catalog.gaps()
    assert (gap.rule, gap.cause, gap.temporary) == ("rules[0]", "bad_data: unexpected }", False)


async def test_a_bug_in_one_listing_does_not_end_the_others(running, caplog):
    prometheus = FakePrometheus(series={"a": ZeroDivisionError(), "b": [Series("b", LABELS)]})
    before = telemetry.CRASHES._value.get()
    listing = running([rule("rules[0]", "a"), rule("rules[1]", "b")], prometheus)
    await listing.catalog.tried()
    assert listing.catalog.custom(MetricEntry(PODS, True, "b"))
    [gap] = listing.catalog.gaps()
    assert (gap.rule, gap.temporary) == ("rules[0]", True)
    assert telemetry.CRASHES._value.get() == before + 1
    assert "ZeroDivisionError" in caplog.text
    assert not listing.task.done()


@pytest.mark.deviation("early-retry")
async def test_a_listing_that_fails_at_the_start_is_retried_soon(running):
    prometheus = FakePrometheus(series={"requests": DOWN})
    listing = running([rule()], prometheus)
    assert [gap.temporary for gap in listing.catalog.gaps()] == [True]
    await listing.catalog.tried()
    for _ in range(6):
        await listing.round()
    assert listing.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    prometheus.known_series["requests"] = [Series("requests", LABELS)]
    await listing.round()
    assert listing.catalog.custom(SERIES_ENTRY)
    assert listing.catalog.gaps() == []
    await listing.round()
    await listing.round()
    assert listing.slept[-3:] == [30.0, 60.0, 600.0], "it may have been too early for some series"


@pytest.mark.deviation("rules-fail-alone")
async def test_what_was_known_is_kept_when_prometheus_goes_down(running):
    prometheus = FakePrometheus(series={"requests": [Series("requests", LABELS)]})
    listing = running([rule()], prometheus)
    await listing.catalog.tried()
    prometheus.known_series["requests"] = DOWN
    await listing.round()
    assert listing.catalog.custom(SERIES_ENTRY)
    assert listing.slept == [600.0, 1.0]


async def test_listings_that_fail_and_the_last_that_did_not_are_exported(running):
    selection = {"backend": "default", "series_query": "requests"}

    def exported():
        value = REGISTRY.get_sample_value
        return (
            value("loadline_adapter_discovery_last_success_timestamp_seconds", selection),
            value("loadline_adapter_discovery_failures_total", selection),
        )

    telemetry.forget_rules()
    prometheus = FakePrometheus(series={"requests": [Series("requests", LABELS)]})
    listing = running([rule()], prometheus)
    await listing.catalog.tried()
    listing.catalog.publish()
    listed_at, failures = exported()
    assert (listed_at > 0, failures) == (True, None)
    prometheus.known_series["requests"] = DOWN
    await listing.round()
    await listing.round()
    assert exported() == (listed_at, 2)


async def test_a_new_configuration_starts_with_what_the_former_knew(running):
    known = {Selection(BackendRef(), "requests"): Listing([Series("requests", LABELS)], attempts=1)}
    prometheus = FakePrometheus(series={"requests": DOWN})
    listing = running([rule()], prometheus, known=known)
    assert listing.catalog.custom(SERIES_ENTRY)


@pytest.mark.deviation("new-resources")
async def test_a_resource_that_is_created_later_is_offered_then(running):
    mapping = FakeMapping()
    series = [Series("requests", LABELS | {"unicorn"})]
    listing = running([rule()], FakePrometheus(series={"requests": series}), mapping)
    await listing.catalog.tried()
    assert len(listing.catalog.custom_entries()) == 2
    mapping.kinds = [*CORE_KINDS, Kind("unicorns", "unicorn", "Unicorn", group="example.com")]
    await listing.catalog.rebuild()
    assert len(listing.catalog.custom_entries()) == 3


class Elsewhere(FakeMapping):
    """Records whether it was called outside the event loop's thread."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []

    def resource_for(self, resource: GroupResource) -> GroupResource:
        self.threads.append(threading.get_ident())
        return super().resource_for(resource)


async def test_offers_are_made_in_a_thread_and_do_not_delay_requests(running):
    mapping = Elsewhere()
    series = {"requests": [Series("requests", LABELS)]}
    listing = running([rule()], FakePrometheus(series=series), mapping)
    await listing.catalog.tried()
    assert listing.catalog.custom(SERIES_ENTRY)
    assert mapping.threads
    assert threading.get_ident() not in mapping.threads


async def test_a_series_that_takes_the_place_of_another_one_is_logged_when_it_appears(
    running, caplog
):
    everything = rule(name_matches="^(.*?)(?:_seconds)?_total$", name_as="$1")
    before = [
        Series(f"{name}{suffix}", LABELS)
        for name in ("a", "b")
        for suffix in ("_total", "_seconds_total")
    ]
    prometheus = FakePrometheus(series={"requests": before})
    listing = running([everything], prometheus)
    await listing.catalog.tried()
    [first] = caplog.messages
    assert first.startswith("rules[0]: ")
    assert "a (a_total, not a_seconds_total), b (b_total, not b_seconds_total)" in first
    assert "seriesQuery" in first
    taken = [Series("c_total", LABELS), Series("c_seconds_total", LABELS)]
    prometheus.known_series["requests"] = [*before, *taken]
    await listing.round()
    [_, second] = caplog.messages
    assert "c (c_total, not c_seconds_total)" in second
    assert "a_total" not in second
    prometheus.known_series["requests"] = [*before, *taken, Series("d_total", LABELS)]
    await listing.round()
    assert len(caplog.messages) == 2


async def test_of_many_series_that_take_the_place_of_others_a_few_are_named(running, caplog):
    everything = rule(name_matches="^(.*?)(?:_seconds)?_total$", name_as="$1")
    prometheus = FakePrometheus(series={"requests": []})
    listing = running([everything], prometheus)
    await listing.catalog.tried()
    prometheus.known_series["requests"] = [
        Series(f"{'a' * 200}_{number:04d}{suffix}", LABELS)
        for number in range(1_000)
        for suffix in ("_total", "_seconds_total")
    ]
    await listing.round()
    [message] = caplog.messages
    assert "each of these 1000 metrics" in message
    assert "and 995 more" in message
    assert len(message) < 4_000


async def test_the_log_speaks_when_something_changes_and_only_then(running, caplog):
    caplog.set_level(logging.INFO)
    prometheus = FakePrometheus(series={"requests": DOWN})
    listing = running([rule()], prometheus)
    await listing.catalog.tried()
    await listing.round()
    await listing.round()
    prometheus.known_series["requests"] = [Series("requests", LABELS)]
    await listing.round()
    await listing.round()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "rules[0]: series cannot be listed" in caplog.messages[0]
    assert "again" in caplog.messages[1]


class CountingCatalog(DiscoveredCatalog):
    builds = 0

    def _build(self, known):
        self.builds += 1
        return super()._build(known)


async def test_listings_that_end_together_share_a_build():
    rules = [rule(f"rules[{number}]", f"m{number}") for number in range(40)]
    series = {f"m{number}": [Series(f"m{number}", LABELS)] for number in range(40)}
    catalog = CountingCatalog(rules, FakePrometheus(series=series), FakeMapping(), Times())
    running = asyncio.create_task(catalog.run())
    await asyncio.wait_for(catalog.tried(), DEADLINE_SECONDS)
    assert len({entry.metric for entry in catalog.custom_entries()}) == 40
    assert catalog.builds <= 4  # the empty one, the first listing, those that came meanwhile
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
