"""Style rules that a program can check, so that reviewers do not have to."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
def python_files(*folders: str) -> list[tuple[str, ast.Module]]:
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8")))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


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


def sleeps(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of time.sleep and asyncio.sleep, however imported; asyncio.sleep(0) only yields to other tasks."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).split(".")[-1] == "sleep"
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


# Pure modules, and packages, that compare the time itself, and why.
COMPARES_TIMES = {
    "scaler/algorithm/moment.py": "the one place",
    "scaler/algorithm/restart.py": "what is stored is compared with now before any decision",
    "scaler/extensions/candidate/progress.py": "its state changes in every reconcile, so no decision is kept",
    "scaler/extensions/forecast/": "it learns once a minute, and its decisions hold until the next one",
    "scaler/extensions/panic.py": "it says that it changes always",
    "scaler/extensions/schedules/": "bounds are computed with the moment until which they hold",
}


def test_the_algorithm_asks_the_moment_instead_of_comparing_times():
    """So a decision is never kept beyond a deadline that it depends on."""
    found = [
        f"{path}:{node.lineno}: ask the moment whether the deadline is reached"
        for path, tree in python_files("scaler/algorithm", "scaler/extensions")
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(
            getattr(each, "id", getattr(each, "attr", "")) in ("now", "now_unix_seconds")
            for side in (node.left, *node.comparators)
            for each in ast.walk(side)
        )
        and not path.startswith(tuple(COMPARES_TIMES))
    ]
    assert "\n".join(found) == ""


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
