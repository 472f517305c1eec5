"""Each threat that SECURITY.md lists has a test of that name."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[str]:
    """The rows of the table of threats."""
    section = (ROOT / "SECURITY.md").read_text("utf-8").split("## Threats\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.split("|")[1].strip()[:60])
def test_a_threat_names_its_tests(row):
    tests = TEST.findall(row)
    assert tests, "name a test that fails when the threat is real"
    for path, name in tests:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert name in {each.name for each in tree.body if isinstance(each, functions)}
