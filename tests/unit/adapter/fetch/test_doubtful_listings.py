"""A listing that lacks what was known is repeated before it counts, and one that is not complete drops nothing for an hour."""

import pytest

from adapter.model import Series
from adapter.ports import QueryFailed, SeriesIncomplete
from tests.fakes.adapter import FakePrometheus
from tests.unit.adapter.fetch.canned import answer
from tests.unit.adapter.fetch.test_catalog import DOWN, LABELS, RunningCatalog, rule

REQUESTS, ERRORS, LATENCY = (Series(name, LABELS) for name in ("requests", "errors", "latency"))


@pytest.fixture
async def running():
    prometheus = FakePrometheus(series={"requests": [REQUESTS, ERRORS]})
    listing = RunningCatalog([rule()], prometheus)
    listing.prometheus = prometheus
    await listing.catalog.tried()
    yield listing
    listing.task.cancel()


def names(listing):
    return sorted({each.metric for each in listing.catalog.custom_entries()})


async def listed(listing, found):
    """The metrics after a listing with this result, and how soon the next one is."""
    listing.prometheus.known_series["requests"] = found
    await listing.round()
    return names(listing), listing.slept[-1]


@pytest.mark.deviation("doubtful-listings")
async def test_series_that_vanish_leave_the_list_when_two_more_listings_lack_them(running):
    both, errors = ["errors", "requests"], ["errors"]
    assert await listed(running, [ERRORS]) == (both, 30.0)
    assert await listed(running, [ERRORS]) == (both, 60.0)
    assert await listed(running, [ERRORS]) == (errors, 600.0)


async def test_series_that_only_one_listing_lacks_stay_although_others_are_in_doubt(running):
    both = ["errors", "requests"]
    assert await listed(running, [ERRORS]) == (both, 30.0)
    assert await listed(running, [REQUESTS, ERRORS]) == (both, 60.0)
    assert await listed(running, [REQUESTS]) == (both, 30.0)
    assert await listed(running, [REQUESTS, ERRORS]) == (both, 60.0)


async def test_nothing_is_dropped_for_a_failure_before_the_listing(running):
    both = ["errors", "requests"]
    assert await listed(running, DOWN) == (both, 1.0)
    assert await listed(running, [REQUESTS, ERRORS]) == (both, 30.0)
    assert await listed(running, [REQUESTS, ERRORS]) == (both, 60.0)
    assert await listed(running, [ERRORS]) == (both, 30.0)


async def test_a_failure_between_listings_that_lack_series_begins_the_count_again(running):
    both = ["errors", "requests"]
    assert await listed(running, [ERRORS]) == (both, 30.0)
    assert await listed(running, DOWN) == (both, 1.0)
    assert await listed(running, [ERRORS]) == (both, 30.0)
    assert await listed(running, [ERRORS]) == (both, 60.0)
    assert await listed(running, [ERRORS]) == (["errors"], 600.0)


@pytest.mark.deviation("doubtful-listings")
async def test_until_a_listing_is_complete_an_unknown_metric_may_be_of_a_store_that_is_missing():
    missing = SeriesIncomplete(backend="a", match="requests", why="store-1", series=[LATENCY])
    listing = RunningCatalog([rule()], FakePrometheus(series={"requests": missing}))
    listing.prometheus = listing.catalog._prometheus
    await listing.catalog.tried()
    assert names(listing) == ["latency"]
    assert listing.catalog.problem is None, "what is known is served"
    [gap] = listing.catalog.gaps()
    assert (gap.temporary, "store-1" in gap.cause) == (True, True)
    await listed(listing, [LATENCY])
    assert listing.catalog.gaps() == []
    await listed(listing, missing)
    assert listing.catalog.gaps() == []
    listing.task.cancel()


async def test_new_series_are_offered_while_others_are_in_doubt(running):
    assert await listed(running, [LATENCY]) == (["errors", "latency", "requests"], 30.0)


async def test_a_prometheus_that_has_lost_its_samples_has_two_scrapes_to_get_them_again(running):
    both = ["errors", "requests"]
    assert await listed(running, DOWN) == (both, 1.0)
    assert await listed(running, []) == (both, 30.0)
    assert await listed(running, [REQUESTS]) == (both, 60.0)
    assert await listed(running, [REQUESTS, ERRORS]) == (both, 600.0)


async def test_a_new_prometheus_without_samples_is_listed_again_soon():
    listing = RunningCatalog([rule()], FakePrometheus(series={"requests": []}))
    await listing.catalog.tried()
    for _ in range(3):
        await listing.round()
    assert listing.slept == [30.0, 60.0, 600.0, 600.0]
    listing.task.cancel()


@pytest.mark.deviation("doubtful-listings")
async def test_a_listing_that_is_not_complete_fails_and_drops_nothing(running):
    missing = SeriesIncomplete(backend="a", match="requests", why="store-1", series=[LATENCY])
    expected = ["errors", "latency", "requests"]
    for seconds in (30.0, 60.0, 120.0, 240.0, 480.0, 600.0, 600.0):
        assert await listed(running, missing) == (expected, seconds)
    assert "not complete: store-1" in running.catalog.failures
    assert await listed(running, [REQUESTS, ERRORS]) == (expected, 30.0)
    assert running.catalog.failures == ""


@pytest.mark.deviation("doubtful-listings")
@pytest.mark.parametrize("stepped_seconds", [-86_400.0, 0.0, 86_400.0])
async def test_a_series_that_incomplete_listings_have_lacked_for_an_hour_is_dropped(
    running, stepped_seconds
):
    """Also if the wall clock is stepped within that hour."""
    missing = SeriesIncomplete(backend="a", match="requests", why="no store", series=[ERRORS])
    both = ["errors", "requests"]
    assert (await listed(running, missing))[0] == both
    running.now_unix_seconds += stepped_seconds
    running.now_seconds += 3599.0
    assert (await listed(running, DOWN))[0] == both
    assert (await listed(running, missing))[0] == both
    running.now_seconds += 1.0
    assert (await listed(running, missing))[0] == ["errors"]


async def test_the_hour_of_a_series_begins_again_once_a_listing_has_it(running):
    missing = SeriesIncomplete(backend="a", match="requests", why="no store", series=[ERRORS])
    returned = SeriesIncomplete(
        backend="a", match="requests", why="no store", series=[ERRORS, REQUESTS]
    )
    await listed(running, missing)
    running.now_seconds += 3599.0
    await listed(running, returned)
    running.now_seconds += 1.0
    assert (await listed(running, missing))[0] == ["errors", "requests"]


@pytest.mark.deviation("doubtful-listings")
async def test_a_metric_is_unknown_when_stores_have_been_missing_for_an_hour():
    missing = SeriesIncomplete(backend="a", match="requests", why="no store", series=[])
    listing = RunningCatalog([rule()], FakePrometheus(series={"requests": missing}))
    await listing.catalog.tried()
    assert len(listing.catalog.gaps()) == 1
    listing.now_seconds += 3600.0
    assert listing.catalog.gaps() == []
    listing.task.cancel()


async def test_listings_of_reloads_are_not_repetitions(running):
    both = ["errors", "requests"]
    assert await listed(running, [ERRORS]) == (both, 30.0)
    catalog = running.catalog
    for _ in range(3):
        reloaded = RunningCatalog([rule()], running.prometheus, known=catalog.listings)
        await reloaded.asleep()
        catalog = reloaded.catalog
        assert names(reloaded) == both
        reloaded.task.cancel()


@pytest.mark.parametrize(
    ("remarks", "why"),
    [
        pytest.param({"warnings": ["store 10.0.0.7 timed out"]}, "store 10.0.0.7", id="Thanos"),
        pytest.param({"isPartial": True}, "some storage nodes", id="VictoriaMetrics"),
    ],
)
async def test_a_list_of_series_without_those_of_some_stores_is_not_complete(
    server, connect, remarks, why
):
    found = [{"__name__": "up", "pod": "a"}]
    server.says = answer({"status": "success", "data": found, **remarks})
    with pytest.raises(SeriesIncomplete, match=why) as incomplete:
        await connect().series(match="up", max_age_seconds=60)
    assert incomplete.value.series == [Series("up", frozenset({"pod"}))]
    assert isinstance(incomplete.value, QueryFailed)
    assert why not in incomplete.value.public_cause
