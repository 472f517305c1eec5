"""The selectors of a namespace by a label that all they match have: only few of them are compared with the labels of a pod."""

from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from wire.api.labels import Operator, Requirement, Selector

# A selector is kept once for each value of `in`: with more values, or if it has more requirements, it takes more memory and time
# than those that it is compared with.
VALUES_INDEXED_MAX: Final = 4
REQUIREMENTS_INDEXED_MAX: Final = 8

# Only labels with one of the values match.
ONE_OF_VALUES: Final = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
_Label = tuple[str, str]
"""Name and value."""
_Places = tuple[_Label | None, ...]
"""Where a selector is kept; None for those without such a label."""
_ANYWHERE: Final[_Places] = (None,)

T = TypeVar("T")


class SelectorIndex(Generic[T]):
    """A mapping of selectors to something. Of the labels of a selector, the one counts that fewest others share."""

    def __init__(self) -> None:
        self._by_label: dict[_Label | None, dict[Selector, T]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_label)

    def get(self, selector: Selector) -> T | None:
        """What was put for it."""
        for label in _labels(selector):
            kept = self._by_label.get(label)
            if kept is not None and selector in kept:
                return kept[selector]
        return None

    def put(self, selector: Selector, value: T) -> None:
        """Add one that it does not have."""
        for label in min(_places(selector), key=self._crowd, default=_ANYWHERE):
            self._by_label.setdefault(label, {})[selector] = value

    def remove(self, selector: Selector) -> None:
        """Remove it, if it is there."""
        for label in _labels(selector):
            kept = self._by_label.get(label)
            if kept is not None and selector in kept:
                del kept[selector]
                if not kept:
                    del self._by_label[label]

    def possible(self, labels: Iterable[_Label]) -> dict[Selector, T]:
        """All that match something with some of these labels, and others."""
        found = dict(self._by_label.get(None, ()))
        for label in self._by_label.keys() & labels:
            found.update(self._by_label[label])
        return found

    def _crowd(self, places: _Places) -> int:
        return sum(1 + len(self._by_label.get(each, ())) for each in places)


def _places(selector: Selector) -> Iterator[_Places]:
    """For each label that it sets equal to a few values, those to keep it at."""
    for each in selector.requirements[:REQUIREMENTS_INDEXED_MAX]:
        if _is_indexed(each):
            yield tuple((each.key, value) for value in each.values)


def _labels(selector: Selector) -> Iterator[_Label | None]:
    for places in _places(selector):
        yield from places
    yield None


def _is_indexed(requirement: Requirement) -> bool:
    return requirement.operator in ONE_OF_VALUES and len(requirement.values) <= VALUES_INDEXED_MAX
