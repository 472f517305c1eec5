"""Watches the pods, and finds those that a selector matches without scanning all of them."""

import time
from collections.abc import Callable, Iterable, Sequence

from scaler.algorithm.observed import Pod
from scaler.cluster.compact_pods import PodCompactor
from wire.api.labels import Operator, Selector
from wire.kube.cache import WatchCache
from wire.kube.object_reading import Part
from wire.kube.requests import Watcher

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS)
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


def _label_of(namespace: str, selector: Selector) -> _Label:
    for requirement in selector.requirements:
        if requirement.operator in _EXACT:
            return namespace, requirement.key, requirement.values[0]
    return namespace, "", ""


def _size_bytes(selector: Selector, matches: tuple[Pod, ...]) -> int:
    """About what one that is remembered takes, with the tuple of its pods, but without the pods."""
    texts = sum(1 + len(each.values) for each in selector.requirements)
    return 500 + 120 * texts + 8 * len(matches)


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
        # The selectors of `_matches`, by a label that their pods have; by "" for those without such a label.
        self._remembered: dict[_Label, set[Selector]] = {}

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
            self._remembered.setdefault(_label_of(namespace, selector), set()).add(selector)
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
        for label in ((namespace, "", ""), *((namespace, *each) for each in labels.items())):
            remembered = self._remembered.get(label)
            if not remembered:
                continue
            for selector in [each for each in remembered if each.matches(labels)]:
                matches = self._matches.pop((namespace, selector))
                self._selectors_bytes -= _size_bytes(selector, matches)
                remembered.discard(selector)
            if not remembered:
                del self._remembered[label]

    def _groups_to_search(self, namespace: str, selector: Selector) -> Iterable[_SameLabels]:
        """The smallest indexed set of groups that contains every match."""
        indexed = [
            self._by_label.get((namespace, each.key, each.values[0]), {})
            for each in selector.requirements
            if each.operator in _EXACT
        ]
        if indexed:
            return min(indexed, key=len).values()
        return self._groups.get(namespace, {}).values()

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
