"""Other autoscalers that scale the same pods.

Two checks. Within a kind, as upstream: the autoscalers whose selectors match one of the pods
(`hpasControllingPodsUnderSelector`, horizontal.go). Across kinds: the HorizontalPodAutoscalers that
name the same target. The built-in controller cannot see a LoadAutoscaler, so it is the
LoadAutoscaler that does not scale.
"""

from collections.abc import Iterable, Mapping

from scaler.model.autoscaler import Autoscaler
from scaler.model.observed import Pod
from wire.labels import NOTHING, Operator, Selector

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS)
_Bucket = tuple[str, str, str]
"""Namespace, and key and value of a label; both empty for selectors that ask for no exact value."""


class Selectors:
    """The selector that each autoscaler's target was last seen to have."""

    def __init__(self) -> None:
        self._selectors: dict[str, Selector] = {}
        self._buckets: dict[_Bucket, set[str]] = {}

    def appear(self, key: str) -> None:
        """An autoscaler exists; until its target's scale is read it selects nothing."""
        self._selectors.setdefault(key, NOTHING)

    def store(self, key: str, selector: Selector) -> None:
        """Its target has this selector. One that has not appeared, or is gone, is not stored."""
        old = self._selectors.get(key)
        if old is None or old == selector:
            return
        self.disappear(key)
        self._selectors[key] = selector
        if not selector.matches_nothing:
            self._buckets.setdefault(_bucket(key, selector), set()).add(key)

    def disappear(self, key: str) -> None:
        """The autoscaler is gone."""
        selector = self._selectors.pop(key, NOTHING)
        bucket = _bucket(key, selector)
        self._buckets.get(bucket, set()).discard(key)
        if not self._buckets.get(bucket):
            self._buckets.pop(bucket, None)

    def controllers_of(self, namespace: str, pods: Iterable[Pod]) -> tuple[str, ...]:
        """The autoscalers whose selector matches one of the pods; sorted, so that messages keep still."""
        found: set[str] = set()
        # Pods of one template have the same labels: check them only once.
        for labels in {
            tuple(pod.metadata.labels.items()): pod.metadata.labels for pod in pods
        }.values():
            found.update(self._matching(namespace, labels))
        return tuple(sorted(found))

    def _matching(self, namespace: str, labels: Mapping[str, str]) -> Iterable[str]:
        buckets = [(namespace, "", ""), *((namespace, key, labels[key]) for key in labels)]
        for bucket in buckets:
            for key in self._buckets.get(bucket, ()):
                if self._selectors[key].matches(labels):
                    yield key


def _bucket(key: str, selector: Selector) -> _Bucket:
    namespace = key.partition("/")[0]
    for requirement in selector.requirements:
        if requirement.operator in _EXACT:
            return namespace, requirement.key, requirement.values[0]
    return namespace, "", ""


class Targets:
    """Which autoscalers of another kind name which target."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._names: dict[tuple[str, str, str, str], set[str]] = {}

    def change(self, old: Autoscaler | None, new: Autoscaler | None) -> None:
        """Follow the watch of that kind."""
        if old is not None:
            names = self._names.get(_target(old), set())
            names.discard(old.metadata.name)
            if not names:
                self._names.pop(_target(old), None)
        if new is not None:
            self._names.setdefault(_target(new), set()).add(new.metadata.name)

    def of(self, autoscaler: Autoscaler) -> tuple[str, ...]:
        """Those on the same target, as `Kind namespace/name`."""
        namespace = autoscaler.metadata.namespace
        names = self._names.get(_target(autoscaler), ())
        return tuple(f"{self._kind} {namespace}/{name}" for name in sorted(names))


def _target(autoscaler: Autoscaler) -> tuple[str, str, str, str]:
    """Namespace, group, kind and name: what decides which object is scaled."""
    ref = autoscaler.spec.scale_target_ref
    group, slash, _ = ref.api_version.partition("/")
    return autoscaler.metadata.namespace, group if slash else "", ref.kind, ref.name
