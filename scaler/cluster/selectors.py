"""Which autoscalers of a kind have a selector that matches the pods of a target.

Upstream's check by pods: `hpasControllingPodsUnderSelector`, horizontal.go. `scaler.cluster.rivals` is the one by target.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from scaler.algorithm.observed import Pod
from scaler.cluster.label_sets import LabelSets
from scaler.cluster.selector_index import SelectorIndex
from wire.api.labels import NOTHING, Selector

# What is remembered of `controllers_of`: pods and names of autoscalers, 8 bytes each, 16 MiB in all.
REMEMBERED_MAX: Final = 2**21

# With more at once, the sets of thousands of labels would take much memory.
LABELS_AT_ONCE: Final = 1_024


class Selectors:
    """The selector that each autoscaler's target was last seen to have.

    Remembers which autoscalers control the pods of a selector: those that share pods find that out in each period,
    because such a decision is not kept.
    """

    def __init__(
        self, *, remembered_max: int = REMEMBERED_MAX, labels_at_once: int = LABELS_AT_ONCE
    ) -> None:
        self._selectors: dict[str, Selector] = {}
        self._by_owner: set[str] = set()
        # By namespace. Equal selectors are matched only once.
        self._stored: dict[str, SelectorIndex[set[str]]] = {}
        self._remembered: dict[str, _Remembered] = {}
        self._remembered_max = remembered_max
        self._labels_at_once = labels_at_once
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
            stored = self._stored.setdefault(_namespace(key), SelectorIndex())
            keys = stored.get(selector)
            if keys is None:
                stored.put(selector, {key})
            else:
                keys.add(key)

    def disappear(self, key: str) -> None:
        """The autoscaler was deleted."""
        selector = self._selectors.pop(key, NOTHING)
        self._by_owner.discard(key)
        self.version += 1
        namespace = _namespace(key)
        self._forget(namespace)
        if selector.matches_nothing:
            return
        stored = self._stored[namespace]
        keys = stored.get(selector) or set()
        keys.discard(key)
        if not keys:
            stored.remove(selector)
        if not stored:
            del self._stored[namespace]

    def controllers_of(
        self, namespace: str, selector: Selector, pods: tuple[Pod, ...], *, owned_for: str = ""
    ) -> tuple[str, ...]:
        """The autoscalers whose selector matches one of the pods of `selector`; sorted, so that messages do not change.

        `owned_for`: the autoscaler whose target owns all of them. Others that go by owners do not control them.
        """
        remembered = self._remembered.setdefault(namespace, _Remembered())
        known = remembered.by_selector.get((selector, owned_for))
        # Pods that have not changed are the same objects, which are not compared in detail.
        if known is not None and known.pods == pods:
            return known.matching.controllers(owned_for)
        found = _Controllers(pods, self._matching(namespace, pods))
        self._remember(remembered, (selector, owned_for), found)
        return found.matching.controllers(owned_for)

    def _matching(self, namespace: str, pods: tuple[Pod, ...]) -> "_Matching":
        """Once for all selectors that match the same pods: a user can write thousands of them."""
        # Pods of one template have the same object.
        labels = {id(pod.metadata.labels): pod.metadata.labels for pod in pods}
        known = self._remembered[namespace].by_labels.get(tuple(labels))
        if known is not None:
            return known
        keys = sorted(self._matching_any(namespace, labels.values()))
        not_by_owner = tuple(key for key in keys if key not in self._by_owner)
        found = _Matching(tuple(labels.values()), tuple(keys), not_by_owner)
        self._remembered[namespace].by_labels[tuple(labels)] = found
        return found

    def _matching_any(self, namespace: str, labels: Collection[Mapping[str, str]]) -> set[str]:
        found: set[str] = set()
        stored = self._stored.get(namespace)
        if stored is None:
            return found
        different = {tuple(each.items()): each for each in labels}
        left = stored.possible(set().union(*different))
        for matches in self._comparisons(list(different.values())):
            # The first match decides.
            for each in [each for each in left if matches(each)]:
                found.update(left.pop(each))
            if not left:
                break
        return found

    def _comparisons(
        self, all_labels: Sequence[Mapping[str, str]]
    ) -> Iterator[Callable[[Selector], bool]]:
        """Each says whether a selector matches some of the labels, all together whether it matches any."""
        if not all_labels:
            return
        # Mostly, all the selectors match those of the first pod.
        first = all_labels[0]
        yield lambda selector: selector.matches(first)
        for begin in range(1, len(all_labels), self._labels_at_once):
            yield LabelSets(all_labels[begin : begin + self._labels_at_once]).any_match

    def _remember(
        self, remembered: "_Remembered", of: tuple[Selector, str], found: "_Controllers"
    ) -> None:
        self._remembered_size -= remembered.drop(of)
        if found.size > self._remembered_max:
            return
        while self._remembered_size + found.size > self._remembered_max:
            # Others need not find theirs again because of it.
            largest = max(self._remembered.values(), key=lambda each: each.size)
            self._remembered_size -= largest.size
            largest.clear()
        remembered.put(of, found)
        self._remembered_size += found.size

    def _forget(self, namespace: str) -> None:
        remembered = self._remembered.pop(namespace, None)
        if remembered is not None:
            self._remembered_size -= remembered.size


class _Matching(msgspec.Struct, frozen=True, weakref=True):
    """The autoscalers whose selectors match some of these labels, sorted: all, and those that do not go by owners."""

    labels: tuple[Mapping[str, str], ...]
    keys: tuple[str, ...]
    not_by_owner: tuple[str, ...]

    def controllers(self, owned_for: str) -> tuple[str, ...]:
        """See `Selectors.controllers_of`."""
        if not owned_for:
            return self.keys
        others = self.not_by_owner
        position = bisect_left(others, owned_for)
        if _has(others, owned_for) or not _has(self.keys, owned_for):
            return others
        return (*others[:position], owned_for, *others[position:])


class _Controllers(msgspec.Struct, frozen=True):
    """The autoscalers that control these pods."""

    pods: tuple[Pod, ...]
    matching: _Matching

    @property
    def size(self) -> int:
        """Others may share the keys, so it is an upper limit."""
        return 1 + len(self.pods) + len(self.matching.keys) + len(self.matching.not_by_owner)


class _Remembered:
    """What was found in one namespace, since a selector of it has changed."""

    def __init__(self) -> None:
        self.by_selector: dict[tuple[Selector, str], _Controllers] = {}
        self.by_labels: WeakValueDictionary[tuple[int, ...], _Matching] = WeakValueDictionary()
        """By the identities of mappings of labels, for as long as it is in use."""
        self.size = 0
        """Of what is in `by_selector`."""

    def put(self, of: tuple[Selector, str], found: _Controllers) -> None:
        """Remember what is not remembered."""
        self.by_selector[of] = found
        self.size += found.size

    def drop(self, of: tuple[Selector, str]) -> int:
        """Its size, if it was remembered."""
        dropped = self.by_selector.pop(of, None)
        size = 0 if dropped is None else dropped.size
        self.size -= size
        return size

    def clear(self) -> None:
        """Forget all but what is in use."""
        self.by_selector.clear()
        self.size = 0


def _has(names: tuple[str, ...], name: str) -> bool:
    position = bisect_left(names, name)
    return position < len(names) and names[position] == name


def _namespace(key: str) -> str:
    return key.partition("/")[0]
