"""Which autoscalers of a kind have a selector that matches the pods of a target.

Upstream's check by pods: `hpasControllingPodsUnderSelector`, horizontal.go. `scaler.cluster.rivals` is the one by target.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from scaler.algorithm.observed import Pod
from wire.api.labels import NOTHING, Operator, Selector

# What is remembered of `controllers_of`: pods and names of autoscalers, 8 bytes each, 16 MiB in all.
REMEMBERED_MAX: Final = 2**21

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS)
_Bucket = tuple[str, str, str]
"""Namespace, and key and value of a label; both empty for selectors without an exact value."""


class Selectors:
    """The selector that each autoscaler's target was last seen to have.

    Remembers which autoscalers control the pods of a selector: those that share pods find that out in each period,
    because such a decision is not kept.
    """

    def __init__(self, *, remembered_max: int = REMEMBERED_MAX) -> None:
        self._selectors: dict[str, Selector] = {}
        self._by_owner: set[str] = set()
        # Equal selectors are matched only once.
        self._buckets: dict[_Bucket, dict[Selector, set[str]]] = {}
        self._remembered: dict[str, dict[tuple[Selector, str], _Controllers]] = {}
        self._remembered_max = remembered_max
        self._remembered_size = 0
        self.version = 0
        """Changes with every change that may change the result of `controllers_of`."""

    def appear(self, key: str) -> None:
        """An autoscaler exists; until its target's scale is read it selects nothing."""
        self._selectors.setdefault(key, NOTHING)

    def knows(self, key: str) -> bool:
        """Whether the autoscaler has appeared and was not deleted."""
        return key in self._selectors

    def store(self, key: str, selector: Selector, *, by_owner: bool = False) -> None:
        """Its target has this selector. Not stored before the autoscaler appears, nor after it is deleted.

        `by_owner`: only pods that its target owns count.
        """
        old = self._selectors.get(key)
        if old is None or (old == selector and by_owner == (key in self._by_owner)):
            return
        self.disappear(key)
        self._selectors[key] = selector
        if by_owner:
            self._by_owner.add(key)
        self.version += 1
        if not selector.matches_nothing:
            bucket = self._buckets.setdefault(_bucket(key, selector), {})
            bucket.setdefault(selector, set()).add(key)

    def disappear(self, key: str) -> None:
        """The autoscaler was deleted."""
        selector = self._selectors.pop(key, NOTHING)
        self._by_owner.discard(key)
        self.version += 1
        self._forget(_namespace(key))
        place = _bucket(key, selector)
        bucket = self._buckets.get(place, {})
        bucket.get(selector, set()).discard(key)
        if not bucket.get(selector):
            bucket.pop(selector, None)
        if not bucket:
            self._buckets.pop(place, None)

    def controllers_of(
        self, namespace: str, selector: Selector, pods: tuple[Pod, ...], *, owned_for: str = ""
    ) -> tuple[str, ...]:
        """The autoscalers whose selector matches one of the pods of `selector`; sorted, so that messages do not change.

        `owned_for`: the autoscaler whose target owns all of them. Others that go by owners do not control them.
        """
        remembered = self._remembered.get(namespace, {}).get((selector, owned_for))
        # Pods that have not changed are the same objects, which are not compared in detail.
        if remembered is not None and remembered.pods == pods:
            return remembered.keys
        keys = self._matching_any(namespace, pods)
        if owned_for:
            keys = {key for key in keys if key == owned_for or key not in self._by_owner}
        found = _Controllers(pods, tuple(sorted(keys)))
        self._remember(namespace, (selector, owned_for), found, instead_of=remembered)
        return found.keys

    def _matching_any(self, namespace: str, pods: Iterable[Pod]) -> set[str]:
        # Pods of one template have the same labels: check them only once.
        different = {tuple(pod.metadata.labels.items()): pod.metadata.labels for pod in pods}
        to_match: dict[_Bucket, list[Mapping[str, str]]] = {}
        for labels in different.values():
            for bucket in ((namespace, "", ""), *((namespace, *each) for each in labels.items())):
                if bucket in self._buckets:
                    to_match.setdefault(bucket, []).append(labels)
        found: set[str] = set()
        for bucket, labels_of_pods in to_match.items():
            for selector, keys in self._buckets[bucket].items():
                # The first match decides.
                if any(map(selector.matches, labels_of_pods)):
                    found.update(keys)
        return found

    def _remember(
        self,
        namespace: str,
        of: tuple[Selector, str],
        found: "_Controllers",
        *,
        instead_of: "_Controllers | None",
    ) -> None:
        if instead_of is not None:
            self._remembered_size -= instead_of.size
        if self._remembered_size + found.size > self._remembered_max:
            self._remembered.clear()
            self._remembered_size = 0
        if found.size <= self._remembered_max:
            self._remembered.setdefault(namespace, {})[of] = found
            self._remembered_size += found.size

    def _forget(self, namespace: str) -> None:
        for each in self._remembered.pop(namespace, {}).values():
            self._remembered_size -= each.size


class _Controllers(msgspec.Struct, frozen=True):
    """The autoscalers that control these pods."""

    pods: tuple[Pod, ...]
    keys: tuple[str, ...]

    @property
    def size(self) -> int:
        return 1 + len(self.pods) + len(self.keys)


def _namespace(key: str) -> str:
    return key.partition("/")[0]


def _bucket(key: str, selector: Selector) -> _Bucket:
    namespace = _namespace(key)
    for requirement in selector.requirements:
        if requirement.operator in _EXACT:
            return namespace, requirement.key, requirement.values[0]
    return namespace, "", ""
