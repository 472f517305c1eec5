"""The caches on the way of a request fit in the memory of the pod together."""

import re

from adapter import caches
from adapter.wide import plans, text
from testbed.programs import REPOSITORY
from wire.serving import connection_shares, large_responses, review_cache
from wire.serving.connection_shares import Group

SHARES = [
    getattr(caches, name)
    for name in dir(caches)
    if name.endswith("_BYTES") and not name.startswith("_") and name != "CACHES_BYTES"
]
REST_BYTES = 128 * caches.MIB
"""The program alone takes half of it."""


def test_the_shares_fit_in_the_budget():
    assert len(SHARES) == 9
    assert sum(SHARES) <= caches.CACHES_BYTES


def test_the_budget_leaves_memory_for_the_rest_of_the_pod():
    template = (REPOSITORY / "charts/adapter/templates/_names.tpl").read_text()
    (limit_mib,) = re.findall(r'"limits" \(dict "memory" "(\d+)Mi"\)', template)
    assert int(limit_mib) * caches.MIB >= caches.CACHES_BYTES + REST_BYTES


def test_reviews_stay_within_their_share():
    kept = (
        review_cache.TOKENS_SIZE_MAX,
        review_cache.UNKNOWN_TOKENS_SIZE_MAX,
        review_cache.ACCEPTED_BEFORE_SIZE_MAX,
        review_cache.DECISIONS_SIZE_MAX,
        review_cache.ANONYMOUS_SIZE_MAX,
    )
    assert sum(kept) <= caches.REVIEWS_BYTES


def test_connections_stay_within_their_share():
    shares = connection_shares.SHARES
    limited = [shares[group].bytes_max for group in shares if group is not Group.VERIFIED]
    assert sum(limited) <= caches.CONNECTIONS_BYTES


def test_large_responses_stay_within_their_share():
    assert large_responses.SENDING.bytes_max <= caches.RESPONSES_BYTES


def test_wide_queries_stay_within_their_share():
    assert text.PROOFS_BYTES + plans.QUERIES_BYTES <= caches.WIDE_QUERIES_BYTES


def test_the_least_recently_used_values_are_dropped_first():
    cache = caches.SizedCache[str, str](10, lambda key, value: len(key) + len(value))
    for key in "ab":
        cache.keep(key, "1234")
    assert cache.get("a") == "1234"
    cache.keep("c", "1234")
    assert [cache.get(each) for each in "abc"] == ["1234", None, "1234"]
    assert (len(cache), cache.size_bytes) == (2, 10)


def test_a_value_that_is_larger_than_all_may_be_replaces_the_previous_one_and_is_not_kept():
    cache = caches.SizedCache[str, str](10, lambda key, value: len(key) + len(value))
    cache.keep("a", "1")
    cache.keep("a", "1234567890")
    assert cache.get("a") is None
    assert cache.size_bytes == 0
