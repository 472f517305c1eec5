"""A module or file that the documentation or a docstring names exists under that name, so a rename cannot be forgotten."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from wire.process import go_yaml

ROOT = Path(__file__).parents[2]
PROGRAMS = ("adapter", "scaler", "wire", "kubectl_loadline")
CODE = (*PROGRAMS, "testbed", "tests", "benchmarks")
FOLDERS = (*CODE, "charts", "docs")

# First parts of dotted names that are not modules of this repository: fields of objects and of configurations, resources,
# libraries, and packages of Go.
FIELDS = {
    "spec",
    "status",
    "signal",
    "metric",
    "name",
    "labels",
    "resources",
    "draft",
    "psp",
    "stored",
    "self",
    "block",
}
RESOURCES = {"deployments", "jobs", "horizontalpodautoscalers"}
LIBRARIES = {
    *sys.stdlib_module_names,
    "dateutil",
    "aiohttp",
    "fields",
    "pytest",
    "retry",
    "strings",
    "template",
}
ELSEWHERE = FIELDS | RESOURCES | LIBRARIES

CODE_SPAN = re.compile(r"`+([^`\n]+)`+")
DOTTED = re.compile(r"(?<![\w./-])_?[a-z]\w*(?:\.[A-Za-z_]\w*)+(?![\w./-])")
# Fields are in camelCase, and names of our own modules are not.
FIELD = re.compile(r"\b[a-z]+[A-Z]")
# Of object groups and addresses.
HOST = re.compile(r"\.(io|com|org|svc|local)\b")
FILE = re.compile(r"\.(py|go|md|txt|yaml|yml|jsonl?|svg|png|lock|toml|sh|csv)$")
PATH = re.compile(r"(?<![\w./:$<{-])[\w-]+(?:/[\w.-]*\w)+/?|(?<![\w./:*-])\w+\.py\b")
# What a decision record names and what has another name now: its text is not edited, its Status line says so.
RENAMED = re.compile(r"`([^`]+)` is now ")


def documents() -> list[Path]:
    """All pages, without the decision records that are superseded, wholly or in part."""
    return [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *sorted((ROOT / "docs").glob("*.md")),
        *(
            path
            for path in sorted((ROOT / "docs/adr").glob("*.md"))
            if "uperseded" not in status_of(path.read_text("utf-8"))
        ),
    ]


@cache
def chart_values() -> frozenset[str]:
    """The dotted names of all values of both charts."""
    return frozenset(
        name
        for chart in ("adapter", "scaler")
        for name in keys_of(go_yaml.load((ROOT / f"charts/{chart}/values.yaml").read_text("utf-8")))
    )


def keys_of(values: object, above: str = "") -> Iterator[str]:
    """The dotted names in a mapping, of mappings too."""
    for key, value in values.items() if isinstance(values, dict) else ():
        yield f"{above}{key}"
        yield from keys_of(value, f"{above}{key}.")


def status_of(text: str) -> str:
    """The Status line of a decision record."""
    found = re.search(r"^Status: .*$", text, re.MULTILINE)
    return found[0] if found else ""


@cache
def tracked() -> frozenset[str]:
    """Every file and folder, and every end of their paths."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    parts = [line.split("/") for line in listed.stdout.splitlines()]
    return frozenset(
        "/".join(each[start:end])
        for each in parts
        for end in range(1, len(each) + 1)
        for start in range(end)
    )


@cache
def modules() -> dict[str, tuple[Path, ...]]:
    """The files by every end of their dotted names."""
    found: dict[str, tuple[Path, ...]] = {}
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            dotted = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            parts = dotted.removesuffix(".__init__").split(".")
            for start in range(len(parts)):
                end = ".".join(parts[start:])
                found[end] = (*found.get(end, ()), path)
    return found


@cache
def names_of(path: Path) -> dict[str, set[str]]:
    """What a file defines or imports, each with its members."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        for name in defined(node):
            found[name] = {member for each in ast.walk(node) for member in defined(each)}
    return found


def defined(node: ast.AST) -> Iterator[str]:
    """The names that a statement defines."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in node.names)
        case ast.Assign(targets=targets):
            yield from (name for each in targets if (name := assigned(each)))
        case ast.AnnAssign(target=target) if name := assigned(target):
            yield name


def assigned(target: ast.expr) -> str:
    """The name of a variable or of an attribute."""
    return str(getattr(target, "id", getattr(target, "attr", "")))


def exists(dotted: str) -> bool:
    """Whether it is a module, or something in one. The name may begin at any package."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        for path in modules().get(".".join(parts[:length]), ()):
            match parts[length:]:
                case []:
                    return True
                case [name] if name in names_of(path):
                    return True
                case [name, member] if member in names_of(path).get(name, ()):
                    return True
    return False


@cache
def known_words() -> frozenset[str]:
    """Every name of a package, a module, or something in one."""
    found = {part for dotted in modules() for part in dotted.split(".")}
    for path in {each for paths in modules().values() for each in paths}:
        for name, members in names_of(path).items():
            found |= {name, *members}
    return frozenset(found)


def outdated(text: str) -> set[str]:
    """The names in a text that nothing has."""
    spans = " ".join(CODE_SPAN.findall(text))
    dotted = {
        name
        for name in DOTTED.findall(spans)
        if not (FIELD.search(name) or HOST.search(name) or FILE.search(name))
        and name.split(".")[0] not in ELSEWHERE
        and name not in chart_values()
    }
    paths = {
        path
        for path in PATH.findall(text)
        if path.startswith(tuple(f"{folder}/" for folder in FOLDERS)) or path.endswith(".py")
    }
    wrong = {name for name in dotted if not exists(name)}
    return wrong | {path for path in paths if path.rstrip("/") not in tracked()}


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_only_what_exists(page):
    text = page.read_text("utf-8")
    assert outdated(text) - set(RENAMED.findall(status_of(text))) == set()


def test_the_architecture_names_only_modules_and_functions_that_exist():
    """Its tables and lists name many by their last part alone."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    assert set(re.findall(r"`([a-z_]+)`", text)) - known_words() == set()


def test_module_docstrings_name_only_what_exists():
    wrong = [
        f"{path.relative_to(ROOT)}: {sorted(names)}"
        for folder in PROGRAMS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (names := outdated(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""))
    ]
    assert "\n".join(wrong) == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("see `scaler.cluster.metrics.streams`", id="a module"),
        pytest.param("see `cluster.metrics.streams`", id="a module without its program"),
        pytest.param("see `algorithm.decide.decides`", id="a function"),
        pytest.param("see `control.reconcile.Reconciler.reconciles`", id="a method"),
        pytest.param("see `gather.bounded_reader`", id="a package"),
        pytest.param("see `wide/separable.py`", id="a path without its program"),
        pytest.param("see `separable.py`", id="a file"),
        pytest.param("run pytest tests/fault_injection", id="a folder, not marked as code"),
    ],
)
def test_an_outdated_name_is_found(text):
    assert outdated(text)


@pytest.mark.parametrize(
    "text",
    [
        "`scaler.cluster.metrics.metric_stream`, `algorithm.decide.decide`, `wide/proof.py`, `tests/unit/wire/`",
        "`control.reconcile.Reconciler.reconcile`, `metrics.k8s.io`, `spec.metrics`, `prometheus.url`, `asyncio.sleep`",
    ],
)
def test_a_name_that_exists_is_not_reported(text):
    assert outdated(text) == set()
