"""Namespaces and shards are assigned evenly, and as few as possible move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.cluster.shards.assignment import (
    ALL_SHARDS,
    SHARDS,
    fnv1a64,
    owner_of,
    shard_of,
    shards_of,
)

members = st.sets(st.integers(0, SHARDS - 1), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", 0xCBF29CE484222325, id="nothing"),
        pytest.param("a", 0xAF63DC4C8601EC8C, id="one byte"),
        pytest.param("foobar", 0x85944171F73967E8, id="several bytes"),
    ],
)
def test_the_hash_has_the_published_test_vectors(text, expected):
    assert fnv1a64(text) == expected


@pytest.mark.parametrize(
    ("namespace", "shard"),
    [("default", 62), ("kube-system", 30), ("shop", 9), ("team-1", 38), ("team-2", 51)],
)
def test_a_namespace_is_always_in_the_same_shard(namespace, shard):
    """Replicas of two versions must agree during an update."""
    assert shard_of(namespace) == shard


@pytest.mark.parametrize("pattern", ["team-{}", "preview-{:04}", "{}-prod", "customer-{}-db"])
def test_namespaces_with_numbered_names_spread_over_the_shards(pattern):
    counts = [0] * SHARDS
    for number in range(10 * SHARDS):
        counts[shard_of(pattern.format(number))] += 1
    assert min(counts) > 0
    assert max(counts) <= 3 * 10


@given(members=members)
def test_every_shard_has_exactly_one_owner(members):
    owned = [shards_of(member, members) for member in members]
    assert frozenset().union(*owned) == ALL_SHARDS
    assert sum(map(len, owned)) == SHARDS


@given(members=members, other=st.integers(0, SHARDS - 1))
def test_shards_move_only_to_a_member_that_joins_and_from_one_that_leaves(members, other):
    before, after = members - {other}, members | {other}
    for shard in ALL_SHARDS:
        if owner_of(shard, after) != other:
            assert owner_of(shard, after) == owner_of(shard, before)


@pytest.mark.parametrize("count", range(2, 11))
def test_no_member_owns_twice_its_share(count):
    shares = [len(shards_of(member, range(count))) for member in range(count)]
    assert max(shares) <= 2 * SHARDS / count
    assert min(shares) >= SHARDS / count / 2


def test_without_members_nothing_has_an_owner():
    assert owner_of(0, ()) is None
    assert shards_of(0, ()) == frozenset()
