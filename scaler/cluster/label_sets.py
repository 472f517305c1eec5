"""The labels of several pods, compared with a selector at once: it takes as long as the selector is, and not as many pods as there are.

An integer has a bit for each of them, so what a requirement matches is found in one operation.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Final

from scaler.cluster.selector_index import ONE_OF_VALUES
from wire.api.int64 import parse_int64
from wire.api.labels import Operator, Requirement, Selector

_INEQUALITY: Final = (Operator.NOT_EQUALS, Operator.NOT_IN)


class LabelSets:
    """Some mappings of labels."""

    def __init__(self, label_sets: Collection[Mapping[str, str]]) -> None:
        self._all = (1 << len(label_sets)) - 1
        self._having: dict[str, dict[str, int]] = {}
        """By key and value of a label."""
        self._with_key: dict[str, int] = {}
        self._by_number: dict[str, tuple[list[int], list[int]]] = {}
        for number, labels in enumerate(label_sets):
            bit = 1 << number
            for key, value in labels.items():
                having = self._having.setdefault(key, {})
                having[value] = having.get(value, 0) | bit

    def any_match(self, selector: Selector) -> bool:
        """Whether the selector matches one of them."""
        matching = 0 if selector.matches_nothing else self._all
        for requirement in selector.requirements:
            matching &= self._matching(requirement)
            if not matching:
                return False
        return matching != 0

    def _matching(self, requirement: Requirement) -> int:
        key, operator = requirement.key, requirement.operator
        if operator in ONE_OF_VALUES:
            return self._having_one(key, requirement.values)
        if operator in _INEQUALITY:
            return self._all & ~self._having_one(key, requirement.values)
        if operator is Operator.EXISTS:
            return self._having_any(key)
        if operator is Operator.DOES_NOT_EXIST:
            return self._all & ~self._having_any(key)
        return self._beyond(requirement)

    def _having_one(self, key: str, values: tuple[str, ...]) -> int:
        having = self._having.get(key)
        if having is None:
            return 0
        found = 0
        for value in values:
            found |= having.get(value, 0)
        return found

    def _having_any(self, key: str) -> int:
        found = self._with_key.get(key)
        if found is None:
            found = reduce(or_, self._having.get(key, {}).values(), 0)
            self._with_key[key] = found
        return found

    def _beyond(self, requirement: Requirement) -> int:
        """Those whose label is an integer above or below that of the requirement."""
        limit = parse_int64(requirement.values[0])
        if limit is None:
            return 0
        numbers, up_to = self._numbers(requirement.key)
        if requirement.operator is Operator.LESS_THAN:
            return up_to[bisect_left(numbers, limit)]
        return up_to[-1] & ~up_to[bisect_right(numbers, limit)]

    def _numbers(self, key: str) -> tuple[list[int], list[int]]:
        """The integers among the values of a label in their order, and what has one of the first 0, 1, 2, ... of them."""
        found = self._by_number.get(key)
        if found is None:
            having = self._having.get(key, {})
            numbers = [
                (number, bits)
                for value, bits in having.items()
                if (number := parse_int64(value)) is not None
            ]
            numbers.sort()
            up_to = accumulate((bits for _, bits in numbers), or_, initial=0)
            found = self._by_number[key] = [number for number, _ in numbers], list(up_to)
        return found
