"""Watches the pods, and finds those that a selector matches without scanning all of them."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from scaler.model.observed import Pod
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher
from wire.labels import Operator, Selector

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS)
_Label = tuple[str, str, str]
"""Namespace, key and value."""


P = TypeVar("P", str, _Label)


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
        self.caches = [
            WatchCache(client, path, Pod, on_change=self.index.change, monotonic=monotonic)
            for path in paths or ["/api/v1/pods"]
        ]

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods of a namespace that the selector matches, sorted by name."""
        return self.index.matching(namespace, selector)


class PodIndex:
    """Pods by namespace and by each of their labels."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, Pod]] = {}
        self._by_label: dict[_Label, dict[str, Pod]] = {}

    def change(self, old: Pod | None, new: Pod | None) -> None:
        """Replace `old` by `new`; None for a pod that did not exist before or no longer exists."""
        if old is not None:
            namespace, name = old.metadata.namespace, old.metadata.name
            _drop(self._by_namespace, namespace, name)
            for label in _labels(old):
                _drop(self._by_label, label, name)
        if new is not None:
            namespace, name = new.metadata.namespace, new.metadata.name
            self._by_namespace.setdefault(namespace, {})[name] = new
            for label in _labels(new):
                self._by_label.setdefault(label, {})[name] = new

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods of a namespace that the selector matches, sorted by name."""
        candidates = self._candidates(namespace, selector)
        found = (pod for pod in candidates.values() if selector.matches(pod.metadata.labels))
        return tuple(sorted(found, key=lambda pod: pod.metadata.name))

    def _candidates(self, namespace: str, selector: Selector) -> dict[str, Pod]:
        """The smallest indexed set of pods that contains every match."""
        sets = [
            self._by_label.get((namespace, each.key, each.values[0]), {})
            for each in selector.requirements
            if each.operator in _EXACT
        ]
        return min(sets, key=len, default=self._by_namespace.get(namespace, {}))


def _labels(pod: Pod) -> Iterable[_Label]:
    namespace = pod.metadata.namespace
    return ((namespace, key, value) for key, value in pod.metadata.labels.items())


def _drop(index: dict[P, dict[str, Pod]], place: P, name: str) -> None:
    named = index.get(place, {})
    named.pop(name, None)
    if not named:
        index.pop(place, None)
