"""The objects of a watch cache by the labels that selectors set equal, so that a selection costs what it finds.

An index for a label is built when a selector first needs it, and each event of the watch updates it: pods of a namespace that come and go
cause no scan of all others. A selection builds one index at most, because each takes as long as the cluster is large; the other
requirements are compared with the labels of the objects that are left.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Final

from wire.api.labels import Operator, Requirement, Selector
from wire.kube.metadata_only import PartialObject

LABELS_MAX: Final = 16
"""Labels with an index; the least recently used is dropped first. Workloads are selected by a few labels, and a client that invents
labels cannot fill the memory."""
FEW: Final = 1_000
"""So many objects are compared with a selector in 0.5 ms; to build an index of 100,000 pods takes 15 ms."""

_EQUALITY: Final = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
_Place = tuple[str, str]  # namespace, value of the label


class LabelIndex:
    """The names of objects; `everything` reads all objects of the cache, to build an index."""

    def __init__(self, everything: Callable[[], Iterable[PartialObject]]) -> None:
        self._everything = everything
        self._by_label: OrderedDict[str, dict[_Place, set[str]]] = OrderedDict()
        """The least recently used label first."""

    def changed(self, old: PartialObject | None, new: PartialObject | None) -> None:
        """An object was added (`old` is None), deleted (`new` is None), or has other labels."""
        for label, places in self._by_label.items():
            if old is not None:
                _remove(places, old, label)
            if new is not None:
                _add(places, new, label)

    def names(self, namespace: str, selector: Selector) -> Collection[str] | None:
        """The names of objects in a namespace that may match; None when the selector sets no label equal to a value.

        They match a requirement whose label has an index, and not necessarily the others.
        """
        equal = [each for each in selector.requirements if each.operator in _EQUALITY]
        found: Collection[str] | None = None
        for requirement in equal:
            if requirement.key in self._by_label:
                found = _fewer(found, self._having(namespace, requirement))
                if not found:
                    return found
        if found is None or len(found) > FEW:
            new = next((each for each in equal if each.key not in self._by_label), None)
            if new is not None:
                self._build(new.key)
                found = _fewer(found, self._having(namespace, new))
        return found

    def _having(self, namespace: str, requirement: Requirement) -> Collection[str]:
        places = self._by_label[requirement.key]
        self._by_label.move_to_end(requirement.key)
        several = [places.get((namespace, value), set()) for value in requirement.values]
        return several[0] if len(several) == 1 else set().union(*several)

    def _build(self, label: str) -> None:
        places: dict[_Place, set[str]] = {}
        for each in self._everything():
            _add(places, each, label)
        self._by_label[label] = places
        if len(self._by_label) > LABELS_MAX:
            self._by_label.popitem(last=False)


def _fewer(found: Collection[str] | None, names: Collection[str]) -> Collection[str]:
    return names if found is None or len(names) < len(found) else found


def _add(places: dict[_Place, set[str]], each: PartialObject, label: str) -> None:
    metadata = each.metadata
    if (value := metadata.labels.get(label)) is not None:
        places.setdefault((metadata.namespace, value), set()).add(metadata.name)


def _remove(places: dict[_Place, set[str]], each: PartialObject, label: str) -> None:
    metadata = each.metadata
    if (value := metadata.labels.get(label)) is not None:
        place = metadata.namespace, value
        names = places.get(place, set())
        names.discard(metadata.name)
        if not names:
            places.pop(place, None)
