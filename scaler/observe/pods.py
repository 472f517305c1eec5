"""Watches the pods, and finds those that a selector matches without scanning all of them."""

import time
from collections.abc import Callable, Iterable, Sequence

from scaler.model.observed import Pod
from scaler.observe.compact_pods import PodCompactor
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher
from wire.labels import Operator, Selector

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS)


class WatchedPods:
    """The cached pods of all namespaces or of some."""

    def __init__(
        self,
        client: Watcher,
        namespaces: Sequence[str],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all namespaces."""
        paths = [f"/api/v1/namespaces/{namespace}/pods" for namespace in namespaces]
        self.index = PodIndex()
        compactor = PodCompactor()
        self.caches = [
            WatchCache(
                client,
                path,
                Pod,
                convert=compactor.compact,
                on_change=self.index.change,
                monotonic=monotonic,
            )
            for path in paths or ["/api/v1/pods"]
        ]

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods of a namespace that the selector matches, sorted by name."""
        return self.index.matching(namespace, selector)


class _SameLabels:
    """The pods of a namespace that have exactly these labels, such as those of one ReplicaSet."""

    __slots__ = ("labels", "pods")

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels = labels
        self.pods: dict[str, Pod] = {}


class PodIndex:
    """Pods by namespace and labels, and by each single label."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[frozenset[tuple[str, str]], _SameLabels]] = {}
        self._by_label: dict[tuple[str, str, str], dict[int, _SameLabels]] = {}

    def change(self, old: Pod | None, new: Pod | None) -> None:
        """Replace `old` by `new`; None for a pod that did not exist before or no longer exists."""
        if old is not None:
            self._remove(old)
        if new is not None:
            self._group(new).pods[new.metadata.name] = new

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods of a namespace that the selector matches, sorted by name."""
        found = [
            pod
            for group in self._candidates(namespace, selector)
            if selector.matches(group.labels)
            for pod in group.pods.values()
        ]
        return tuple(sorted(found, key=lambda pod: pod.metadata.name))

    def _candidates(self, namespace: str, selector: Selector) -> Iterable[_SameLabels]:
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
