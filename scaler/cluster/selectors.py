"""Which autoscalers of a kind have a selector that matches the pods of a target.

Upstream's check by pods: `hpasControllingPodsUnderSelector`, horizontal.go. `scaler.cluster.rivals` is the one by target.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

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
        self._remembered: dict[str, dict[tuple[Selector, str], _Controllers]] = {}
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
        found: set[str] = set()
        stored = self._stored.get(namespace)
        if stored is None:
            return found
        # Pods of one template have the same labels: check them only once.
        different = {tuple(pod.metadata.labels.items()): pod.metadata.labels for pod in pods}
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
