"""`python -m testbed.tested_behavior [WORD ...]`: the tests of each deviation, flag, field and metric.

A test belongs to a behavior if it names it: a deviation by its marker or its name, a flag as users write it, a field as
the CRD or the code spells it, a metric with or without its prefix. Words select the behaviors that contain one of them.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from adapter.__main__ import PROGRAM as ADAPTER
from adapter.commands import server_flags
from kubectl_loadline.program import PROGRAM as PLUGIN
from scaler.__main__ import PROGRAM as SCALER
from testbed.reference_pages import fields_page, metrics_page
from wire.process.command_line.program import Program
from wire.serving import options

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = (ROOT / "tests", ROOT / "testbed" / "differential")
DEVIATIONS: Final = ROOT / "docs" / "deviations.md"
IGNORED: Final = "flags that are accepted and ignored"
PREFIX: Final = re.compile(r"^loadline_(adapter|scaler)_(autoscaler_)?")
SUFFIXES: Final = ("", "_total", "_bucket", "_count", "_sum")
"""Of the samples of a metric, and what prometheus_client appends to the name of a counter."""

_DEVIATION = re.compile(r"^\| `(?P<name>[a-z0-9-]+)`(?: \([^)]*\))? \|(?P<cells>.*)$", re.MULTILINE)
_METRIC = re.compile(r"^\| `(?P<name>loadline_\w+)` \|", re.MULTILINE)
_SPEC_FIELD = re.compile(r"^\| `(?P<name>spec\.[^`]+)` \|", re.MULTILINE)
_WORD = re.compile(r"_?telemetry\.\w+|(?:--)?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Words = frozenset[str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Behavior(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a user can rely on."""

    kind: str
    name: str
    words: tuple[Words, ...] = ()
    """A test names it if it has one word of each group,"""
    texts: Words = frozenset()
    """or one of these in its string literals: names of metrics are names in the code, too."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A test, or a module with the tables and fixtures of all its tests."""

    name: str
    words: Words
    texts: Words
    """Words of its string literals."""
    deviations: Words
    """Those that its markers name."""


@cache
def behaviors() -> tuple[Behavior, ...]:
    """All of them, by kind."""
    return tuple(_behaviors())


def _behaviors() -> Iterator[Behavior]:
    for name in deviations():
        yield Behavior(kind="deviation", name=name, words=(frozenset({name}),))
    yield from _flags()
    yield from _fields()
    names_in_code = _names_of_metrics()
    for metric in _METRIC.findall(metrics_page()):
        yield Behavior(
            kind="metric",
            name=metric,
            words=(names_in_code[metric],),
            texts=_spellings_of_metric(metric),
        )


def deviations() -> list[str]:
    """The names of the rows of the tables of deviations."""
    tables = DEVIATIONS.read_text("utf-8").split("### Clocks that differ")
    without_clocks = tables[0] + tables[1].partition("\n### ")[2]
    return [name for name, _ in _DEVIATION.findall(without_clocks)]


def _flags() -> Iterator[Behavior]:
    """One for each flag of a program, and one for all flags that it accepts and ignores."""
    for program in (ADAPTER, SCALER, PLUGIN):
        found: dict[str, set[str]] = defaultdict(set)
        for flag in _flags_of(program):
            name = IGNORED if _is_ignored(flag) else flag.option_strings[-1]
            found[name].update(flag.option_strings)
        for name, names in found.items():
            words = (_spellings_of_flags(names),)
            yield Behavior(kind="flag", name=f"{program.name} {name}", words=words)


def _flags_of(program: Program) -> Iterator[argparse.Action]:
    for command in dict.fromkeys((program.default, *program.commands)):
        for action in command.load().parser()._actions:  # noqa: SLF001 - argparse has no other list
            if action.option_strings and "--help" not in action.option_strings:
                yield action


def _is_ignored(flag: argparse.Action) -> bool:
    """A program may have a use for a flag that others ignore; then it has a help."""
    names = {each.removeprefix("--") for each in flag.option_strings}
    return flag.help == argparse.SUPPRESS and not names.isdisjoint(
        {*options.IGNORED, *server_flags.IGNORED}
    )


def _spellings_of_flags(names: Iterable[str]) -> Words:
    """A name of several words also without its hyphens, as the key of a table."""
    return frozenset(
        spelling
        for name in names
        for spelling in (name, name.removeprefix("--"))
        if spelling.startswith("--") or "-" in spelling
    )


def _fields() -> Iterator[Behavior]:
    """The fields of the specs. A test names a field and what it is part of: `name` alone is a word of every test."""
    for section in fields_page().split("\n## ")[1:]:
        for field in _SPEC_FIELD.findall(section):
            parts = re.sub(r"\[\]|\.\*", "", field).split(".")[1:]
            yield Behavior(
                kind=f"field of {section.split()[0]}",
                name=field,
                words=tuple(_spellings_of_field(each) for each in parts[-2:]),
            )


def _spellings_of_field(name: str) -> Words:
    """`leadSeconds` and `lead_seconds`."""
    return frozenset({name, _HUMP.sub("_", name).lower()})


def _spellings_of_metric(name: str) -> Words:
    """A name of one word counts only with its prefix or a suffix: `requests` is a word of many tests."""
    plain = name.removesuffix("_total")
    return frozenset(
        spelling
        for base in (plain, PREFIX.sub("", plain))
        for suffix in SUFFIXES
        if "_" in (spelling := base + suffix)
    )


def _names_of_metrics() -> Mapping[str, Words]:
    """What the code of both programs calls a metric: `telemetry.CRASHES`, `self._telemetry.crashes_total`."""
    found: dict[str, Words] = defaultdict(frozenset)
    for path in (ROOT / "adapter" / "telemetry.py", ROOT / "scaler" / "cluster" / "telemetry.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name) | ast.Attribute(attr=name)],
                    value=ast.Call(
                        func=ast.Name(id="Counter" | "Gauge" | "Histogram" as kind),
                        args=[ast.Constant(value=str(metric)), *_],
                    ),
                ):
                    plain = metric.removesuffix("_total")
                    found[f"{plain}_total" if kind == "Counter" else metric] |= {
                        f"telemetry.{name}",
                        f"_telemetry.{name}",
                    }
    return found


@cache
def sources(directories: tuple[Path, ...] = TESTS) -> tuple[Source, ...]:
    """Each test below the directories, and each module with what stands outside of its tests."""
    return tuple(
        source
        for directory in directories
        for path in sorted(directory.rglob("*.py"))
        for source in sources_of(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    )


def sources_of(text: str, module: str) -> Iterator[Source]:
    """Those of one module. A line belongs to a test, or to the module."""
    words = [_WORD.findall(line) for line in text.splitlines()]
    texts: list[list[str]] = [[] for _ in words]
    marked: list[list[str]] = [[] for _ in words]
    tests: list[tuple[str, range]] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Constant(value=str(literal)):
                texts[node.lineno - 1] += _WORD.findall(literal)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test_"):
                tests.append((node.name, _lines_of(node)))
            case ast.Call(func=ast.Attribute(attr="deviation"), args=names):
                marked[node.lineno - 1] += [
                    each.value
                    for each in names
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                ]
    rest = set(range(len(words))).difference(*(lines for _, lines in tests))
    for name, lines in [*((f"{module}::{name}", lines) for name, lines in tests), (module, rest)]:
        yield Source(
            name=name,
            words=_joined(words, lines),
            texts=_joined(texts, lines),
            deviations=_joined(marked, lines),
        )


def _lines_of(node: Function) -> range:
    """With its decorators, which have the rows of its table."""
    first = min((each.lineno for each in node.decorator_list), default=node.lineno)
    return range(first - 1, node.end_lineno or first)


def _joined(found: Sequence[Sequence[str]], lines: Iterable[int]) -> Words:
    return frozenset(chain.from_iterable(found[line] for line in lines))


class Index:
    """Which sources have a word: hundreds of behaviors are searched for in thousands of tests."""

    def __init__(self, known: Iterable[Source]) -> None:
        self._words: dict[str, set[str]] = defaultdict(set)
        self._texts: dict[str, set[str]] = defaultdict(set)
        for source in known:
            for word in source.words:
                self._words[word].add(source.name)
            for word in source.texts:
                self._texts[word].add(source.name)

    def tests_of(self, behavior: Behavior) -> list[str]:
        """The tests and modules that name a behavior, in the order of their names."""
        having = [_having(self._words, group) for group in behavior.words]
        named = set[str].intersection(*having) if having else set()
        return sorted(named | _having(self._texts, behavior.texts))


def _having(sources_of: Mapping[str, set[str]], words: Iterable[str]) -> set[str]:
    return set().union(*(sources_of[word] for word in words if word in sources_of))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print them; 1 if no behavior has one of the words."""
    parser = argparse.ArgumentParser(prog="python -m testbed.tested_behavior", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of a name; default: all")
    words = parser.parse_args(arguments).words
    selected = [
        each for each in behaviors() if not words or any(word in each.name for word in words)
    ]
    index = Index(sources() if selected else ())
    for behavior in selected:
        print(f"{behavior.kind} {behavior.name}")
        print("".join(f"  {test}\n" for test in index.tests_of(behavior)), end="")
    if not selected:
        print(f"No deviation, flag, field or metric contains {' or '.join(words)}", file=sys.stderr)
    return 0 if selected else 1


if __name__ == "__main__":
    sys.exit(main())
