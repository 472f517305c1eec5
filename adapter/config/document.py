"""YAML text to blocks that are read field by field. A field that no reader has read is unknown.

prometheus-adapter reads its file with yaml.v2's UnmarshalStrict: any scalar is valid for a text, null means the
default, unknown fields and duplicate keys are errors. Here all errors are collected, with key path and line.
"""

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import yaml

from adapter.config.problems import ConfigProblem, ProblemCode
from wire.api.duration import parse_duration, parse_prometheus_duration
from wire.process.go_yaml import documents, without_merges

T = TypeVar("T")

_NULL = "tag:yaml.org,2002:null"
_BINARY = "tag:yaml.org,2002:binary"
MAPS: Final = frozenset({"overrides"})
"""Fields of prometheus-adapter's structs that are maps: no key may be given twice, not even by a merge."""

_TRUE = {"true", "yes", "on", "y"}
_FALSE = {"false", "no", "off", "n"}


class Problems:
    """The errors and warnings, in the order found."""

    def __init__(self) -> None:
        self.errors: list[ConfigProblem] = []
        self.warnings: list[ConfigProblem] = []

    def error(
        self, code: ProblemCode, node: yaml.Node | None, path: str, problem: str, fix: str
    ) -> None:
        """A problem with which the file cannot be used."""
        _add(self.errors, code, node, path, problem, fix)

    def warning(
        self, code: ProblemCode, node: yaml.Node | None, path: str, problem: str, fix: str
    ) -> None:
        """A problem with which the file works, but probably not as intended."""
        _add(self.warnings, code, node, path, problem, fix)


def _add(
    found: list[ConfigProblem],
    code: ProblemCode,
    node: yaml.Node | None,
    path: str,
    problem: str,
    fix: str,
) -> None:
    """Each problem once, although two checks may find it."""
    line = node.start_mark.line + 1 if node is not None else 0
    each = ConfigProblem(code=code, path=path, line=line, problem=problem, fix=fix)
    if each not in found:
        found.append(each)


def read_document(text: str, problems: Problems) -> "Block | None":
    """The top block of the first document in the text; None when it cannot be read as a mapping (a problem)."""
    try:
        node, several = _first(text)
    except yaml.YAMLError as e:
        problems.error(
            ProblemCode.INVALID_YAML,
            None,
            "(file)",
            f"not YAML: {_message(e)}",
            "Fix the syntax; indent with spaces.",
        )
        return None
    if several:
        problems.warning(
            ProblemCode.SEVERAL_DOCUMENTS,
            node,
            "(file)",
            "the file contains several documents",
            "Only the first one is read; delete the others.",
        )
    if node is None or _is_null(node):
        return Block("", None, problems)
    if not isinstance(node, yaml.MappingNode):
        problems.error(
            ProblemCode.WRONG_TYPE,
            node,
            "(file)",
            f"the file contains {_kind(node)}",
            "Write `rules:` and a list below it.",
        )
        return None
    return Block("", node, problems)


def first_document(text: str) -> yaml.Node | None:
    """The tree of the first document, as prometheus-adapter's structs see it. Raises `yaml.YAMLError`."""
    return _first(text)[0]


def _first(text: str) -> tuple[yaml.Node | None, bool]:
    """The first document's tree, and whether there are more documents."""
    found = documents(text)
    node = next(found, None)
    if node is None:
        return None, False
    return without_merges(node, into_structs=MAPS), next(found, None) is not None


def _message(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return where + str(getattr(error, "problem", None) or error).replace("\n", " ")


class Block:
    """A mapping of the document. Fields are read by name; `close` reports those that were not read."""

    def __init__(self, path: str, node: yaml.MappingNode | None, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._node = node
        self._fields = dict(_fields(node, path, problems)) if node is not None else {}
        self._taken: set[str] = set()

    def path_of(self, name: str) -> str:
        """The key path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def error(self, code: ProblemCode, name: str, problem: str, fix: str) -> None:
        """Report an error in a field, or in this block when `name` is empty."""
        self.problems.error(
            code,
            self._fields.get(name, self._node),
            self.path_of(name) if name else self.path,
            problem,
            fix,
        )

    def warning(self, code: ProblemCode, name: str, problem: str, fix: str) -> None:
        """Report a warning about a field, or about this block when `name` is empty."""
        self.problems.warning(
            code,
            self._fields.get(name, self._node),
            self.path_of(name) if name else self.path,
            problem,
            fix,
        )

    def has(self, name: str) -> bool:
        """Whether a field is present and not null."""
        return self._take(name) is not None

    def close(self) -> None:
        """Report the fields that were not read."""
        for name, node in self._fields.items():
            if name not in self._taken:
                near = difflib.get_close_matches(name, self._taken, n=1)
                hint = (
                    f"Did you mean `{near[0]}`?"
                    if near
                    else f"Known fields: {', '.join(sorted(self._taken))}."
                )
                self.problems.error(
                    ProblemCode.UNKNOWN_FIELD,
                    node,
                    self.path_of(name),
                    f"unknown field `{name}`",
                    hint,
                )

    # --- values -----------------------------------------------------------------------------------------------------

    def text(self, name: str, default: str = "") -> str:
        """A scalar as written, of any YAML type."""
        node = self._take(name)
        if node is None:
            return default
        if isinstance(node, yaml.ScalarNode) and node.tag != _BINARY:
            return str(node.value)
        self.error(
            ProblemCode.WRONG_TYPE,
            name,
            f"expected a string, found {_kind(node)}",
            "Write the text itself as one value; quote it if in doubt.",
        )
        return default

    def required_text(self, name: str, fix: str) -> str:
        """A text that must be present and not empty."""
        text = self.text(name)
        if not text and not isinstance(self._take(name), yaml.CollectionNode):
            self.error(ProblemCode.MISSING_FIELD, name, f"`{name}` is missing", fix)
        return text

    def parsed(self, name: str, parse: Callable[[str], T], default: T, fix: str) -> T:
        """A text read by `parse`, whose `ValueError` becomes an error."""
        if not self.has(name):
            return default
        try:
            return parse(self.text(name))
        except ValueError as e:
            self.error(ProblemCode.INVALID_VALUE, name, str(e), fix)
            return default

    def boolean(self, name: str, default: bool) -> bool:
        """`true` or `false`, also as YAML 1.1 spells them."""
        return self.parsed(name, _boolean, default, "Write true or false.")

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        """One of a few words."""
        text = self.text(name, default)
        if text not in allowed:
            self.error(
                ProblemCode.INVALID_VALUE,
                name,
                f"{text!r} is not one of {', '.join(allowed)}",
                f"Write one of {', '.join(allowed)}.",
            )
            return default
        return text

    def seconds_from_zero(self, name: str) -> float:
        """A duration in Prometheus' syntax, by default 0."""
        fix = "Write a duration such as 30s, 5m or 1h."
        return self.parsed(name, parse_prometheus_duration, 0.0, fix)

    def seconds(self, name: str, default: float | None = None) -> float | None:
        """A duration above 0 in Prometheus' syntax."""
        fix = "Write a duration such as 30s, 5m or 1h."
        seconds = self.parsed(name, parse_prometheus_duration, default, fix)
        if self.has(name) and seconds is not None and seconds <= 0:
            self.error(ProblemCode.INVALID_VALUE, name, "the duration must be more than 0", fix)
            return default
        return seconds

    def go_seconds(self, name: str, default: float) -> float:
        """A duration above 0 in Go's syntax."""
        fix = "Write a duration such as 500ms, 30s or 1m30s."
        seconds = self.parsed(name, parse_duration, default, fix)
        if seconds <= 0:
            self.error(ProblemCode.INVALID_VALUE, name, "the duration must be more than 0", fix)
            return default
        return seconds

    def number(self, name: str, default: int) -> int:
        """A whole number above 0."""
        fix = "Write a whole number above 0."
        value = self.parsed(name, int, default, fix)
        if value <= 0:
            self.error(ProblemCode.INVALID_VALUE, name, f"{value} is not above 0", fix)
            return default
        return value

    # --- nested blocks ------------------------------------------------------------------------------------------------

    def block(self, name: str) -> "Block":
        """The mapping under a field; an empty one when there is none."""
        node = self._take(name)
        if node is not None and not isinstance(node, yaml.MappingNode):
            self.error(
                ProblemCode.WRONG_TYPE,
                name,
                f"expected a mapping, found {_kind(node)}",
                "Write `key: value` lines below it.",
            )
            node = None
        return Block(self.path_of(name), node, self.problems)

    def blocks(self, name: str) -> "Iterator[Block]":
        """The mappings of the list under a field."""
        node = self._take(name)
        if node is not None and not isinstance(node, yaml.SequenceNode):
            self.error(
                ProblemCode.WRONG_TYPE,
                name,
                f"expected a list, found {_kind(node)}",
                "Begin each entry with `- `.",
            )
            return
        for index, item in enumerate(node.value if node is not None else ()):
            path = f"{self.path_of(name)}[{index}]"
            if isinstance(item, yaml.MappingNode):
                yield Block(path, item, self.problems)
            else:
                self.problems.error(
                    ProblemCode.WRONG_TYPE,
                    item,
                    path,
                    f"expected a mapping, found {_kind(item)}",
                    "Write `key: value` lines.",
                )

    def names(self) -> list[str]:
        """The fields of a mapping whose keys are free, in the order written."""
        return list(self._fields)

    def _take(self, name: str) -> yaml.Node | None:
        self._taken.add(name)
        node = self._fields.get(name)
        return None if node is None or _is_null(node) else node


def _fields(
    node: yaml.MappingNode, path: str, problems: Problems
) -> Iterator[tuple[str, yaml.Node]]:
    """Fields by name. One that is given twice is a problem; the later one is read."""
    seen: set[str] = set()
    for key, value in node.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
        if name in seen:
            where = f"{path}.{name}" if path else name
            problems.error(
                ProblemCode.DUPLICATE_FIELD,
                key,
                where,
                f"`{name}` is given twice",
                "Keep one of them.",
            )
        seen.add(name)
        yield name, value


def _is_null(node: yaml.Node) -> bool:
    return node.tag == _NULL


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"the value {str(node.value)[:40]!r}{' of !!binary' if node.tag == _BINARY else ''}"


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(f"{text[:40]!r} is neither true nor false")
