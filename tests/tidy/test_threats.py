"""Each threat that SECURITY.md lists has a test, which docs/testing.md names."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def section(page: str, title: str) -> str:
    """The text below a heading."""
    return (ROOT / page).read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def threats() -> list[str]:
    """The first column of the table of threats."""
    lines = section("SECURITY.md", "Threats").splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]


def listed_threats() -> dict[str, str]:
    """The threats that docs/testing.md lists, each with the lines below it."""
    items = section("docs/testing.md", "The tests of the threats").split("\n- ")[1:]
    return {threat: tests for threat, _, tests in (item.partition("\n") for item in items)}


def test_the_threats_with_tests_are_those_of_the_table():
    assert list(listed_threats()) == threats()


@pytest.mark.parametrize("threat", threats(), ids=lambda threat: threat[:60])
def test_a_threat_names_its_tests(threat):
    tests = TEST.findall(listed_threats()[threat])
    assert tests, "name a test that fails when the threat is real"
    for path, name in tests:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert name in {each.name for each in tree.body if isinstance(each, functions)}
