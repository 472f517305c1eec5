"""All texts that the programs show people, with file and line, so that a person can read them one after the other.

`python -m testbed.user_facing_texts [PACKAGE...]` (or `make texts`) finds them in the code: help, errors, log lines, and
everything else that reads like a sentence, such as conditions, events and output. The page's texts are its templates.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("wire", "adapter", "scaler", "kubectl_loadline", "testbed/demo")
HELP: Final = ("help", "description", "notes", "summary", "examples", "usage")
LOG_METHODS: Final = ("debug", "info", "warning", "error", "exception", "critical", "log")
NOT_TEXTS: Final = ("compile", "fullmatch", "match", "sub", "findall", "search", "split", "NewType")
"""Functions whose arguments are patterns or names."""

_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z'}]+[,:;.]? (?:\{|[A-Za-z])")
"""Two words after each other, or a word and a value."""


class Text(NamedTuple):
    """One text. `kind` is help, error, log or text; values are written as the expressions in braces."""

    path: str
    line: int
    kind: str
    text: str


def texts_of(path: Path) -> Iterator[Text]:
    """Those of a module, in the order of its lines."""
    shown = str(path.relative_to(ROOT))
    visitor = _Visitor()
    visitor.visit(ast.parse(path.read_text("utf-8")))
    for line, kind, text in sorted(visitor.found):
        yield Text(shown, line, kind, text)


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[tuple[int, str, str]] = []
        self._kind = "text"

    def visit_Raise(self, node: ast.Raise) -> None:
        self._visit_as("error", node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name in NOT_TEXTS:
            return
        if isinstance(node.func, ast.Attribute) and name in LOG_METHODS:
            owner = _name(node.func.value)
            self._visit_as("log" if owner in ("log", "_log") else "error", node)
            return
        for each in (*node.args, node.func):
            self.visit(each)
        for keyword in node.keywords:
            before, self._kind = self._kind, "help" if keyword.arg in HELP else self._kind
            self.visit(keyword.value)
            self._kind = before

    def visit_Expr(self, node: ast.Expr) -> None:
        # A docstring is for developers.
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Not its annotation."""

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._add(node.lineno, node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._add(node.lineno, "".join(map(_part, node.values)))
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value.value)

    def _visit_as(self, kind: str, node: ast.AST) -> None:
        before, self._kind = self._kind, kind
        self.generic_visit(node)
        self._kind = before

    def _add(self, line: int, text: str) -> None:
        if _WORDS.search(text):
            self.found.append((line, self._kind, " ".join(text.split())))


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the list."""
    parser = argparse.ArgumentParser(
        prog="python -m testbed.user_facing_texts", description=__doc__
    )
    parser.add_argument("packages", nargs="*", default=PACKAGES, metavar="PACKAGE")
    for package in parser.parse_args(arguments).packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            for each in texts_of(path):
                print(f"{each.path}:{each.line}: {each.kind}: {each.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
