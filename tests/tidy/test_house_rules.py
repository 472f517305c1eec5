"""Style rules that a program can check, so that reviewers do not have to."""

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.time_comparisons import comparing_functions

ROOT = Path(__file__).parents[2]
CODE = ("adapter", "scaler", "wire", "kubectl_loadline", "testbed", "tests", "benchmarks")
PROGRAMS = ("adapter", "scaler", "wire", "kubectl_loadline")

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 400
# Longer files, each with its reason.
LONG_FILES: dict[str, str] = {}

# Names that say nothing about the contents.
EMPTY_NAMES = {
    "util", "utils", "helper", "helpers", "manager", "managers", "data", "info", "common", "misc",
}  # fmt: skip

# The only module that sleeps: it polls a condition with a deadline.
WAITING = "testbed/waiting.py"


@cache
def parsed(folder: str) -> list[tuple[str, ast.Module]]:
    """The files of a folder. No collection traverses them again, which takes as long as parsing."""
    found = [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8")))
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    gc.freeze()
    return found


def python_files(*folders: str) -> list[tuple[str, ast.Module]]:
    return [each for folder in folders for each in parsed(folder)]


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_every_function_fits_on_a_screen():
    too_long = [
        f"{path}:{each.lineno} {each.name}: {lines} lines, split it at a verb"
        for path, tree in python_files(*CODE)
        for each in functions(tree)
        if (lines := (each.end_lineno or each.lineno) - each.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert "\n".join(too_long) == ""


def test_every_file_has_at_most_400_lines():
    too_long = [
        f"{path}: {lines} lines, split it or give a reason in LONG_FILES"
        for path, _ in python_files(*CODE)
        if (lines := len((ROOT / path).read_text("utf-8").splitlines())) > FILE_LINES_MAX
        and path not in LONG_FILES
    ]
    assert "\n".join(too_long) == ""


def test_every_file_name_says_what_the_file_contains():
    meaningless = [
        f"{path}: {sorted(empty)} says nothing, name it for what it does"
        for folder in (*CODE, "charts", "docs")
        for path in sorted((ROOT / folder).rglob("*"))
        if "__pycache__" not in path.parts
        # Helm reads the templates of a chart from a file of this name.
        and path.name != "_helpers.tpl"
        and (empty := set(path.stem.replace("-", "_").lower().split("_")) & EMPTY_NAMES)
    ]
    assert "\n".join(meaningless) == ""


def test_every_module_has_a_docstring():
    undocumented = [
        f"{path}: the docstring is missing; say what the module is for, and its upstream counterpart"
        for path, tree in python_files(*CODE)
        if tree.body and not ast.get_docstring(tree)
    ]
    assert "\n".join(undocumented) == ""


def test_every_public_class_and_function_of_the_programs_has_a_docstring():
    undocumented = [
        f"{path}:{node.lineno} {node.name}: say what it means, its units and its errors"
        for path, tree in python_files(*PROGRAMS)
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert "\n".join(undocumented) == ""


def _name(function: ast.expr) -> str:
    """The last part of a dotted name."""
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def sleeps(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of time.sleep and asyncio.sleep, however imported; asyncio.sleep(0) only yields to other tasks."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and _name(node.func) == "sleep"
            and [ast.unparse(argument) for argument in node.args] != ["0"]
        ):
            yield node


def test_tests_wait_for_conditions_without_sleeping():
    sleeping = [
        f"{path}:{call.lineno}: poll a condition with a deadline ({WAITING}), or pass the time as an argument"
        for path, tree in python_files("tests")
        for call in sleeps(tree)
    ]
    assert "\n".join(sleeping) == ""


def imported_names(tree: ast.AST, packages: tuple[str, ...]) -> set[str]:
    """The names that a file imports from these packages."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                (alias.asname or alias.name).split(".")[0]
                for alias in node.names
                if alias.name.split(".")[0] in packages
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in packages:
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def test_no_test_replaces_our_own_code_while_it_runs():
    mocking = [
        f"{path}: imports {sorted(mocks)}, write a typed fake of the port instead"
        for path, tree in python_files("tests")
        if (mocks := imported_names(tree, ("mock", "pytest_mock")) | mock_of_unittest(tree))
    ]
    patching = [
        f"{path}:{node.lineno}: replaces {ast.unparse(node.args[0])}, pass a fake as an argument instead"
        for path, tree in python_files("tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "monkeypatch.setattr"
        and ast.unparse(node.args[0]).strip("'\"").split(".")[0]
        in imported_names(tree, PROGRAMS) | set(PROGRAMS)
    ]
    assert "\n".join(mocking + patching) == ""


def mock_of_unittest(tree: ast.AST) -> set[str]:
    return {
        "unittest.mock"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "unittest" in ast.unparse(node)
        and "mock" in ast.unparse(node)
    }


_STORED = "what is stored is compared with now before any decision"
_FORGOTTEN = "it only forgets what is too old to decide anything"
_LEARNS = "it learns once a minute, and its decisions hold until the next one"
_BOUNDS = "bounds are computed with the moment until which they hold"
_CHANGES = "its state changes in every reconcile, so no decision is kept"
_ALWAYS = "it says that it changes always"
# Functions of pure modules that compare the time themselves, and why.
COMPARES_TIMES = {
    "scaler/algorithm/moment.py:first_unreached": "the one place",
    "scaler/algorithm/moment.py:holds_until": "the one place",
    "scaler/algorithm/moment.py:passed": "the one place",
    "scaler/algorithm/moment.py:reached": "the one place",
    "scaler/algorithm/recommendations.py:_logged": _FORGOTTEN,
    "scaler/algorithm/recommendations.py:_without_old_steps": _FORGOTTEN,
    "scaler/algorithm/restart.py:_not_after": _STORED,
    "scaler/algorithm/restart.py:restored": _STORED,
    "scaler/algorithm/times.py:past_times": _STORED,
    "scaler/extensions/candidate/progress.py:_breach": _CHANGES,
    "scaler/extensions/candidate/progress.py:_held": _CHANGES,
    "scaler/extensions/forecast/digest.py:restored": _STORED,
    "scaler/extensions/forecast/foresee.py:foresee": _LEARNS,
    "scaler/extensions/forecast/foresee.py:_observed": _LEARNS,
    "scaler/extensions/forecast/foresee.py:_with_alone": _LEARNS,
    "scaler/extensions/forecast/warm_start.py:warm_started": _LEARNS,
    "scaler/extensions/panic.py:_continued": _ALWAYS,
    "scaler/extensions/panic.py:panic_state": _ALWAYS,
    "scaler/extensions/scale_to_zero.py:restored": _STORED,
    "scaler/extensions/schedules/matching_days.py:_places_between": _BOUNDS,
    "scaler/extensions/schedules/matching_days.py:latest": _BOUNDS,
    "scaler/extensions/schedules/recurrence.py:following": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_around": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_continue_distant": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_continued": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_current": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_end_of_chain": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_found": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_next_search": _BOUNDS,
    "scaler/extensions/schedules/windows.py:_still_active": _BOUNDS,
    "scaler/extensions/schedules/windows.py:evaluated": _BOUNDS,
}


def test_the_algorithm_asks_the_moment_instead_of_comparing_times():
    """So a decision is never kept beyond a deadline that it depends on."""
    found = comparing_functions(python_files("scaler/algorithm", "scaler/extensions"))
    problems = [
        f"{where} (lines {lines}): ask the moment whether the deadline is reached"
        for where, lines in found.items()
        if where not in COMPARES_TIMES
    ]
    problems += [f"{where}: compares no times" for where in COMPARES_TIMES.keys() - found.keys()]
    assert "\n".join(problems) == ""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return moment.now_unix_seconds > since", id="attribute"),
        pytest.param("age = now - since\n    return age > 60", id="assigned difference"),
        pytest.param("at: float = now\n    return since + 60 <= at", id="another name"),
        pytest.param("at, other = now, 1\n    return at == since", id="several at once"),
        pytest.param("since -= now\n    return since < -60", id="assigned in place"),
        pytest.param("return (age := now - since) and age > 60", id="assigned within"),
        pytest.param("minute = int(now // 60)\n    return minute >= since", id="whole minutes"),
        pytest.param("return min(since, now)", id="minimum"),
        pytest.param("return max(0.0, now - since)", id="maximum"),
        pytest.param("return [each for each in since if each < now]", id="comprehension"),
        pytest.param("return bisect_right(since, now)", id="search"),
        pytest.param("return is_old(now, since)", id="passed by position"),
        pytest.param("return is_old(since=since, at=now)", id="passed by name"),
    ],
)
def test_a_planted_comparison_of_times_is_found(body):
    planted = f"def planted(moment, now, since):\n    {body}\n"
    called = "def is_old(at, since):\n    return at - since > 60\n"
    assert comparing_functions([("planted.py", ast.parse(planted + called))])


@pytest.mark.parametrize(
    "body",
    [
        "return moment.reached(since + 60)",
        "return now if since is None else since",
        "return f'{now - since:.0f} s ago'",
        "return now is None or since > 60",
    ],
)
def test_what_compares_no_times_is_not_found(body):
    clean = f"def clean(moment, now, since):\n    {body}\n"
    assert comparing_functions([("clean.py", ast.parse(clean))]) == {}


def imported_modules(tree: ast.AST) -> set[str]:
    """What a file imports; `from a import b` may import a module a.b or a name of a."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def modules_of_wire(program: str) -> set[str]:
    """The modules of wire that a program imports, and those that they import."""
    reached: set[str] = set()
    waiting = set().union(*(imported_modules(tree) for _, tree in python_files(program)))
    while waiting:
        module = waiting.pop()
        path = f"{module.replace('.', '/')}.py"
        if module.startswith("wire.") and module not in reached and (ROOT / path).is_file():
            reached.add(module)
            waiting |= imported_modules(dict(python_files("wire"))[path])
    return reached


def test_every_module_of_wire_is_used_by_two_programs():
    """What one program uses belongs to that program (docs/adr/0031-the-contract-of-wire.md)."""
    uses = {
        program: modules_of_wire(program) for program in ("adapter", "scaler", "kubectl_loadline")
    }
    of_one = [
        f"{path}: used by {users or 'no program'}, move it there"
        for path, _ in python_files("wire")
        if (module := path.removesuffix(".py").replace("/", "."))
        and not path.endswith("__init__.py")
        and len(users := [program for program, found in uses.items() if module in found]) < 2
    ]
    assert "\n".join(of_one) == ""
