"""Watches the pods, and finds those that a selector matches without scanning all of them."""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence

from scaler.algorithm.observed import Pod
from scaler.cluster.compact_pods import PodCompactor
from scaler.cluster.selector_index import ONE_OF_VALUES, VALUES_INDEXED_MAX, SelectorIndex
from wire.api.labels import Selector
from wire.kube.cache import WatchCache
from wire.kube.object_reading import Part
from wire.kube.requests import Watcher

# Of the selectors that are remembered, with tuples of their pods. An ordinary one takes less than 1 KB.
SELECTORS_BYTES_MAX = 32 << 20

_Label = tuple[str, str, str]
"""Namespace, name and value."""


class WatchedPods:
    """The cached pods of all namespaces or of some."""

    def __init__(
        self,
        client: Watcher,
        namespaces: Sequence[str],
        *,
        part: Part | None = None,
        on_crash: Callable[[], object] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all namespaces; `part`: those of them whose pods are kept, None for all. `on_crash` is called when
        one pod cannot be kept because of a bug."""
        paths = [f"/api/v1/namespaces/{namespace}/pods" for namespace in namespaces]
        self.index = PodIndex()
        compactor = PodCompactor()
        self.caches = [
            WatchCache(
                client,
                path,
                Pod,
                part=part,
                convert=compactor.compact,
                on_change=self.index.change,
                on_crash=on_crash,
                monotonic=monotonic,
            )
            for path in paths or ["/api/v1/pods"]
        ]

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods of a namespace that the selector matches, sorted by name."""
        return self.index.matching(namespace, selector)


def _size_bytes(selector: Selector, matches: tuple[Pod, ...]) -> int:
    """About what one that is remembered takes, with the tuple of its pods, but without the pods."""
    counts = [len(each.values) for each in selector.requirements]
    places = max([1, *(count for count in counts if count <= VALUES_INDEXED_MAX)])
    return 200 + 300 * places + 120 * (len(counts) + sum(counts)) + 8 * len(matches)


class _SameLabels:
    """The pods of a namespace that have exactly these labels, such as those of one ReplicaSet."""

    __slots__ = ("labels", "pods")

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels = labels
        self.pods: dict[str, Pod] = {}


class PodIndex:
    """Pods by namespace and labels, and by each single label. Remembers what each selector matches."""

    def __init__(self, *, selectors_bytes_max: int = SELECTORS_BYTES_MAX) -> None:
        self._selectors_bytes_max = selectors_bytes_max
        self._selectors_bytes = 0
        self._groups: dict[str, dict[frozenset[tuple[str, str]], _SameLabels]] = {}
        self._by_label: dict[_Label, dict[int, _SameLabels]] = {}
        self._matches: dict[tuple[str, Selector], tuple[Pod, ...]] = {}
        # The same, by namespace: what a pod may have changed.
        self._remembered: dict[str, SelectorIndex[tuple[Pod, ...]]] = {}

    def change(self, old: Pod | None, new: Pod | None) -> None:
        """Replace `old` by `new`; None for a pod that did not exist before or no longer exists."""
        if old is not None:
            self._remove(old)
            self._forget_matches(old)
        if new is not None:
            self._group(new).pods[new.metadata.name] = new
            if old is None or old.metadata.labels is not new.metadata.labels:
                self._forget_matches(new)

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods of a namespace that the selector matches, sorted by name; the same object until one changes."""
        matches = self._matches.get((namespace, selector))
        if matches is None:
            matches = self._found(namespace, selector)
            self._make_space(_size_bytes(selector, matches))
            self._matches[namespace, selector] = matches
            self._remembered.setdefault(namespace, SelectorIndex()).put(selector, matches)
        return matches

    def _make_space(self, size_bytes: int) -> None:
        if self._selectors_bytes + size_bytes > self._selectors_bytes_max:
            self._matches.clear()
            self._remembered.clear()
            self._selectors_bytes = 0
        self._selectors_bytes += size_bytes

    def _found(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        found = [
            pod
            for group in self._groups_to_search(namespace, selector)
            if selector.matches(group.labels)
            for pod in group.pods.values()
        ]
        return tuple(sorted(found, key=lambda pod: pod.metadata.name))

    def _forget_matches(self, pod: Pod) -> None:
        """The pod has changed: what matches its labels is searched again."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        remembered = self._remembered.get(namespace)
        if remembered is None:
            return
        for selector, matches in remembered.possible(labels.items()).items():
            if selector.matches(labels):
                remembered.remove(selector)
                del self._matches[namespace, selector]
                self._selectors_bytes -= _size_bytes(selector, matches)
        if not remembered:
            del self._remembered[namespace]

    def _groups_to_search(self, namespace: str, selector: Selector) -> Iterable[_SameLabels]:
        """The smallest indexed set of groups that contains every match."""
        indexed = [
            [self._by_label.get((namespace, each.key, value), {}) for value in set(each.values)]
            for each in selector.requirements
            if each.operator in ONE_OF_VALUES
        ]
        if not indexed:
            return self._groups.get(namespace, {}).values()
        smallest = min(indexed, key=lambda groups: sum(map(len, groups)))
        # A group has one value of a label, so it is in one of them only.
        return itertools.chain.from_iterable(each.values() for each in smallest)

    def _group(self, pod: Pod) -> _SameLabels:
        """The pod's group, which is made when there is none."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        groups = self._groups.setdefault(namespace, {})
        key = frozenset(labels.items())
        group = groups.get(key)
        if group is None:
            group = groups[key] = _SameLabels(labels)
            for name, value in labels.items():
                self._by_label.setdefault((namespace, name, value), {})[id(group)] = group
        return group

    def _remove(self, pod: Pod) -> None:
        group = self._group(pod)
        group.pods.pop(pod.metadata.name, None)
        if group.pods:
            return
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        groups = self._groups[namespace]
        del groups[frozenset(labels.items())]
        if not groups:
            del self._groups[namespace]
        for label in ((namespace, name, value) for name, value in labels.items()):
            del self._by_label[label][id(group)]
            if not self._by_label[label]:
                del self._by_label[label]
