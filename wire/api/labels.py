"""Label selectors: text (`app=web,tier in (a,b),!canary`) to requirements and back.

This file accepts, matches, prints and refuses what `k8s.io/apimachinery/pkg/labels` v0.36.3 does, with the same error
messages, because users see them in conditions and API responses.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

from wire.api.int64 import parse_int64
from wire.api.label_syntax import (
    LABEL_KEY,
    LABEL_NAME,
    has_short_prefix,
    problems_of_key,
    problems_of_value,
)
from wire.api.meta import LabelSelector, LabelSelectorRequirement
from wire.api.quoting import go_quote


class Operator(StrEnum):
    """How a requirement relates a key to its values; upstream's `selection.Operator`."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_IN: Final = Operator.IN
_NOT_IN: Final = Operator.NOT_IN
_EQUALS: Final = Operator.EQUALS
_DOUBLE_EQUALS: Final = Operator.DOUBLE_EQUALS
_NOT_EQUALS: Final = Operator.NOT_EQUALS
_EXISTS: Final = Operator.EXISTS
_DOES_NOT_EXIST: Final = Operator.DOES_NOT_EXIST

_EQUALITY: Final = (_EQUALS, _DOUBLE_EQUALS, _NOT_EQUALS)
_SETS: Final = (_IN, _NOT_IN)
_PRESENCE: Final = (_EXISTS, _DOES_NOT_EXIST)
# More of them are searched faster by their order than one after the other.
_FEW: Final = 16
_UNCHANGED: Final = (_EQUALS, _EXISTS, _DOES_NOT_EXIST)
_ORDER: Final = (Operator.GREATER_THAN, Operator.LESS_THAN)


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One condition on one label. Made by `requirement`, which checks it, and sorts the values of a set."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when the labels satisfy it; a missing label satisfies `!=`, `notin` and `!`."""
        value = labels.get(self.key)
        operator = self.operator
        # Called for every pod: comparing identities is several times faster than `match` or a set of enums.
        if operator is _EQUALS or operator is _DOUBLE_EQUALS:
            return value is not None and value in self.values
        if operator is _IN:
            return value is not None and _is_among(self.values, value)
        if operator is _EXISTS:
            return value is not None
        if operator is _DOES_NOT_EXIST:
            return value is None
        if operator is _NOT_EQUALS:
            return value is None or value not in self.values
        if operator is _NOT_IN:
            return value is None or not _is_among(self.values, value)
        return self._is_beyond(value)

    def _is_beyond(self, value: str | None) -> bool:
        found = parse_int64(value) if value is not None else None
        limit = parse_int64(self.values[0])
        if found is None or limit is None:
            return False
        return found > limit if self.operator is Operator.GREATER_THAN else found < limit

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({values})"
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.NOT_EQUALS:
                return f"{self.key}{self.operator.value}{values}"
            case Operator.GREATER_THAN:
                return f"{self.key}>{values}"
            case Operator.LESS_THAN:
                return f"{self.key}<{values}"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"


def _is_among(values: tuple[str, ...], value: str) -> bool:
    """Whether it is one of the sorted values. A set would find it as fast, and take more memory than the values."""
    if len(values) <= _FEW:
        return value in values
    position = bisect_left(values, value)
    return position < len(values) and values[position] == value


class Selector(msgspec.Struct, frozen=True, gc=False):
    """Requirements that must all hold, in order of their keys. Hashable, so that it can be a cache key."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when every requirement holds; without requirements everything matches."""
        if self.matches_nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 - half the time of all() with a generator
            if not requirement.matches(labels):
                return False
        return True

    def is_empty(self) -> bool:
        """True when it does not restrict anything."""
        return not self.requirements and not self.matches_nothing

    def __str__(self) -> str:
        """The canonical text: parses back to the same selector. Both everything and nothing print as ''."""
        return ",".join(str(requirement) for requirement in self.requirements)


EVERYTHING: Final = Selector()
NOTHING: Final = Selector(matches_nothing=True)


def parse(text: str) -> Selector:
    """Read the query-string form. Raises ValueError with upstream's message. An empty text selects everything."""
    return _kept(text) if len(text) <= _KEPT_LENGTH_MAX else _read(text)


def _read(text: str) -> Selector:
    plain = _plain(text)
    return _sorted(_Parser(text).parse() if plain is None else plain)


# The same few selectors occur in every reconcile and request; parsing takes 10 us. One takes at most 20 KB.
_KEPT_LENGTH_MAX: Final = 256
_kept = lru_cache(maxsize=2048)(_read)

_PLAIN: Final = re.compile(f"({LABEL_KEY})(?:(=)({LABEL_NAME})?)?")


def _plain(text: str) -> list[Requirement] | None:
    """Those of a text such as `app=web,tier`, as most are; None for one that needs the grammar."""
    found: list[Requirement] = []
    for each in text.split(","):
        matched = _PLAIN.fullmatch(each)
        if matched is None or not has_short_prefix(each):
            return None
        key, equals, value = matched.groups()
        if equals:
            found.append(Requirement(key, _EQUALS, (value or "",)))
        else:
            found.append(Requirement(key, _EXISTS))
    return found


def requirement(key: str, operator: Operator, values: tuple[str, ...] = ()) -> Requirement:
    """A checked requirement (upstream's NewRequirement). Raises ValueError with every problem."""
    problems = [f"key: {problem}" for problem in _key_problems(key)]
    problems += _count_problems(operator, values)
    for index, value in enumerate(values):
        if found := problems_of_value(value):
            problems.append(f"values[{index}][{key}]: {_invalid(value, '; '.join(found))}")
    if problems:
        distinct = list(dict.fromkeys(problems))
        raise ValueError(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
    return Requirement(key, operator, tuple(sorted(values)) if operator in _SETS else values)


def from_label_selector(selector: LabelSelector | None) -> Selector:
    """The API object as a selector: None selects nothing, an empty one everything (LabelSelectorAsSelector)."""
    if selector is None:
        return NOTHING
    found = [
        requirement(key, Operator.EQUALS, (value,))
        for key, value in sorted(selector.match_labels.items())
    ]
    for expression in selector.match_expressions:
        operator = _OPERATOR_OF_WORD.get(expression.operator)
        if operator is None:
            raise ValueError(
                f"{go_quote(expression.operator)} is not a valid label selector operator"
            )
        found.append(requirement(expression.key, operator, tuple(expression.values)))
    return _sorted(found)


def to_label_selector(selector: Selector) -> LabelSelector:
    """The selector as an API object (ParseToLabelSelector). `!=`, `>` and `<` have no such form: ValueError."""
    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []
    for each in selector.requirements:
        if each.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS):
            match_labels[each.key] = each.values[0]
            continue
        word = _WORD_OF_OPERATOR.get(each.operator)
        if word is None:
            quoted = go_quote(each.operator.value)
            if each.operator in _ORDER:
                raise ValueError(f"{quoted} isn't supported in label selectors")
            raise ValueError(f"{quoted} is not a valid label selector operator")
        match_expressions.append(
            LabelSelectorRequirement(key=each.key, operator=word, values=sorted(set(each.values)))
        )
    return LabelSelector(match_labels=match_labels, match_expressions=match_expressions)


def through_label_selector(selector: Selector) -> Selector:
    """What `to_label_selector` and `from_label_selector` make of it. Raises as the first one."""
    keys = {each.key for each in selector.requirements if each.operator in _UNCHANGED}
    if len(keys) == len(selector.requirements) and not selector.matches_nothing:
        return selector
    return from_label_selector(to_label_selector(selector))


_OPERATOR_OF_WORD: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_WORD_OF_OPERATOR: Final = {operator: word for word, operator in _OPERATOR_OF_WORD.items()}


def _sorted(requirements: list[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda each: each.key)))


def _invalid(value: str, problem: str) -> str:
    return f"Invalid value: {go_quote(value)}: {problem}"


def _key_problems(key: str) -> list[str]:
    found = problems_of_key(key)
    return [_invalid(key, "; ".join(found))] if found else []


def _count_problems(operator: Operator, values: tuple[str, ...]) -> list[str]:
    shown = msgspec.json.encode(values).decode() if values else "null"
    if operator in _SETS and not values:
        problem = "for 'in', 'notin' operators, values set can't be empty"
    elif operator in _EQUALITY and len(values) != 1:
        problem = "exact-match compatibility requires one single value"
    elif operator in _PRESENCE and values:
        problem = "values set must be empty for exists and does not exist"
    elif operator in _ORDER:
        return _order_problems(shown, values)
    else:
        return []
    return [f"values: Invalid value: {shown}: {problem}"]


def _order_problems(shown: str, values: tuple[str, ...]) -> list[str]:
    problems = []
    if len(values) != 1:
        problem = "for 'Gt', 'Lt' operators, exactly one value is required"
        problems.append(f"values: Invalid value: {shown}: {problem}")
    for index, value in enumerate(values):
        if parse_int64(value) is None:
            problem = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.append(f"values[{index}]: {_invalid(value, problem)}")
    return problems


# The grammar

_WORD: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|$)")
_SYMBOLS: Final = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_BINARY: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_BINARY_NAMES: Final = ", ".join(operator.value for operator in _BINARY.values())
_END: Final = ""


def _is_identifier(word: str) -> bool:
    return word != _END and word not in _SYMBOLS


class _Parser:
    """Upstream's recursive descent, so that the same text fails at the same place with the same message."""

    def __init__(self, text: str) -> None:
        self._words = [word for word in _WORD.findall(text) if word]
        self._position = 0

    def parse(self) -> list[Requirement]:
        """All requirements, in the order of the text."""
        requirements: list[Requirement] = []
        while (word := self._peek()) != _END:
            if word != "!" and not _is_identifier(word):
                raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            self._separator()
        return requirements

    def _peek(self) -> str:
        return self._words[self._position] if self._position < len(self._words) else _END

    def _take(self) -> str:
        word = self._peek()
        self._position += 1
        return word

    def _separator(self) -> None:
        word = self._take()
        if word == _END:
            return
        if word != ",":
            raise ValueError(f"found '{word}', expected: ',' or 'end of string'")
        following = self._peek()
        if following != "!" and not _is_identifier(following):
            raise ValueError(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._identifier()
        if problems := _key_problems(key):
            raise ValueError(f"<nil>: {problems[0]}")  # upstream has no path to name here
        if negated:
            return requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek() in (_END, ","):
            return requirement(key, Operator.EXISTS)
        word = self._take()
        operator = _BINARY.get(word)
        if operator is None:
            raise ValueError(f"found '{word}', expected: {_BINARY_NAMES}")
        values = self._set() if operator in _SETS else {self._exact_value()}
        return requirement(key, operator, tuple(sorted(values)))

    def _identifier(self) -> str:
        word = self._take()
        if not _is_identifier(word):
            raise ValueError(f"found '{word}', expected: identifier")
        return word

    def _exact_value(self) -> str:
        return "" if self._peek() in (_END, ",") else self._identifier()

    def _set(self) -> set[str]:
        """`(a,b)`; a value may be missing, which is the empty value."""
        if (word := self._take()) != "(":
            raise ValueError(f"found '{word}' expected: '('")
        first = self._peek()
        if first == ")":
            self._take()
            return {""}
        if first != "," and not _is_identifier(first):
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        values = self._set_values()
        self._take()
        return values

    def _set_values(self) -> set[str]:
        values: set[str] = set()
        while True:
            word = self._take()
            following = self._peek()
            if _is_identifier(word):
                values.add(word)
                if following not in (",", ")"):
                    raise ValueError(f"found '{following}', expected: ',' or ')'")
            elif word == ",":
                if not values or following in (",", ")"):
                    values.add("")
            else:
                raise ValueError(f"found '{word}', expected: ',', or identifier")
            if following == ")":
                return values
