"""Reviews are cached for their TTL. In virtual time."""

import asyncio

import pytest

from tests.fakes.virtual_time import passes, run
from wire.api.status import Unavailable
from wire.serving.review_cache import DECISIONS_SIZE_MAX, ENTRY_BYTES, ReviewCache

TTL_SECONDS = 10.0
REVIEW_SECONDS = 0.05


class ApiServer:
    """Reviews take a moment; `times` says when each was sent."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.result = "yes"
        self.error: Exception | None = None

    async def review(self) -> str:
        self.times.append(asyncio.get_running_loop().time())
        await passes(REVIEW_SECONDS)
        if self.error:
            raise self.error
        return self.result


def new_cache(**more) -> ReviewCache[str, str]:
    loop = asyncio.get_running_loop()
    return ReviewCache(
        **{"size_max": 64 << 20, **more}, ttl_seconds=lambda _: TTL_SECONDS, monotonic=loop.time
    )


async def waits(cache, api: ApiServer, *, times: list[float], key: str = "a") -> list[bool]:
    """Whether each request had to wait for a review."""
    loop, waited = asyncio.get_running_loop(), []
    for at in times:
        await passes(at - loop.time())
        await cache.get(key, api.review)
        waited.append(loop.time() > at)
    return waited


def test_no_result_is_older_than_its_ttl():
    async def scenario():
        api, cache, loop = ApiServer(), new_cache(), asyncio.get_running_loop()
        for n in range(30):
            await passes(n * 15.0 - loop.time())
            await cache.get("a", api.review)
            assert loop.time() - api.times[-1] <= TTL_SECONDS

    run(scenario())


def test_a_revoked_right_counts_after_the_ttl_at_the_latest():
    async def scenario():
        api, cache, loop = ApiServer(), new_cache(), asyncio.get_running_loop()
        await waits(cache, api, times=[15.0 * n for n in range(5)])
        api.result = "no"
        await passes(75.0 - loop.time())
        assert await cache.get("a", api.review) == "no"

    run(scenario())


def test_a_single_request_causes_a_single_review():
    async def scenario():
        api = ApiServer()
        await waits(new_cache(), api, times=[0.0])
        await passes(600.0)
        assert len(api.times) == 1

    run(scenario())


def test_within_the_ttl_a_client_is_reviewed_once_and_after_it_again():
    async def scenario():
        api = ApiServer()
        waited = await waits(new_cache(), api, times=[0.0, 5.0, 9.9, 10.1, 15.0])
        assert waited == [True, False, False, True, False]
        assert len(api.times) == 2

    run(scenario())


def test_a_failure_is_raised_and_not_cached():
    async def scenario():
        api, cache = ApiServer(), new_cache()
        api.error = Unavailable("connection refused")
        with pytest.raises(Unavailable):
            await cache.get("a", api.review)
        api.error = None
        assert await cache.get("a", api.review) == "yes"

    run(scenario())


def test_requests_that_overlap_share_a_review():
    async def scenario():
        api, cache = ApiServer(), new_cache()
        results = await asyncio.gather(*(cache.get("a", api.review) for _ in range(50)))
        assert (results, len(api.times)) == (["yes"] * 50, 1)

    run(scenario())


def test_a_ttl_of_zero_reviews_every_request():
    async def scenario():
        api = ApiServer()
        cache = ReviewCache(
            ttl_seconds=lambda _: 0.0, size_max=1 << 20, monotonic=asyncio.get_running_loop().time
        )
        await waits(cache, api, times=[n * 15.0 for n in range(5)])
        assert len(api.times) == 5

    run(scenario())


def test_a_result_with_a_ttl_of_zero_takes_no_space_beside_others():
    async def scenario():
        api, cache = (
            ApiServer(),
            ReviewCache(
                ttl_seconds=lambda result: TTL_SECONDS if result == "yes" else 0.0,
                size_max=1 << 20,
                monotonic=asyncio.get_running_loop().time,
            ),
        )
        await cache.get("a", api.review)
        api.result = "no"
        await cache.get("b", api.review)
        assert ("a" in cache, cache.size) == (True, ENTRY_BYTES)

    run(scenario())


async def test_a_result_that_expires_at_this_moment_makes_space():
    now = [100.0]
    cache: ReviewCache[str, str] = ReviewCache(
        ttl_seconds=lambda _: TTL_SECONDS, size_max=1 << 20, monotonic=lambda: now[0]
    )

    async def review() -> str:
        return "yes"

    await cache.get("a", review)
    now[0] += TTL_SECONDS
    await cache.get("b", review)
    assert cache.size == ENTRY_BYTES


def test_the_clients_of_fifty_thousand_autoscalers_fit():
    path = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/a-long-namespace/pods/*/a_long_metric"
    entry_bytes = ENTRY_BYTES + 3 * len(path)
    assert 50_000 * entry_bytes < DECISIONS_SIZE_MAX


def test_as_many_results_are_kept_as_fit():
    async def scenario():
        cache, api = new_cache(size_max=100 * (ENTRY_BYTES + 10), size_of=len), ApiServer()
        keys = [f"{number:010}" for number in range(150)]
        await asyncio.gather(*(cache.get(key, api.review) for key in keys))
        assert cache.size == 100 * (ENTRY_BYTES + 10)

    run(scenario())


def test_what_one_caller_stores_is_bounded_by_size():
    async def scenario():
        cache = new_cache(size_max=100_000, size_of=len)
        for n in range(1_000):
            await cache.get(f"{n:04}" * 1_000, ApiServer().review)
        assert cache.size <= 100_000

    run(scenario())
