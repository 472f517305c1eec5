"""Which shard a namespace belongs to, and which member should own a shard: pure.

A namespace is the unit, because autoscalers that name the same target, or select the same pods, are found only by the
replica that reconciles all of them.
"""

import hashlib
from collections.abc import Collection
from functools import lru_cache
from typing import Final

# All replicas must use the same number, so it is not a flag.
SHARDS: Final = 64
ALL_SHARDS: Final = frozenset(range(SHARDS))

_OFFSET_BASIS: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3


def fnv1a64(text: str) -> int:
    """FNV-1a with 64 bits, as in `k8s.io/apimachinery/pkg/sharding` (KEP-5866)."""
    found = _OFFSET_BASIS
    for byte in text.encode():
        found = (found ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF
    return found


@lru_cache(maxsize=2**16)
def shard_of(namespace: str) -> int:
    """The shard of a namespace, from 0 to `SHARDS` - 1.

    By the lowest bits of the hash. The highest ones hardly depend on the last characters of a name: 90 of `team-0` to
    `team-99` have the same.
    """
    return fnv1a64(namespace) % SHARDS


def owner_of(shard: int, members: Collection[int]) -> int | None:
    """The number of the member that should own the shard; None without members.

    Rendezvous hashing: when a member leaves, only its shards move, and when one joins, shards move only to it.
    """
    return max(members, key=lambda member: (_weight(member, shard), member), default=None)


def shards_of(member: int, members: Collection[int]) -> frozenset[int]:
    """All shards that the member should own."""
    return frozenset(shard for shard in range(SHARDS) if owner_of(shard, members) == member)


@lru_cache(maxsize=SHARDS * SHARDS)
def _weight(member: int, shard: int) -> int:
    digest = hashlib.blake2b(f"member-{member}/{shard}".encode(), digest_size=8).digest()
    return int.from_bytes(digest)
