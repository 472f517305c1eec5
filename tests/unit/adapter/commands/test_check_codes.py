"""Every code of `check` and `explain` has a section in docs/check.md, and every section is of a code."""

import ast
import re
from pathlib import Path

import pytest

from adapter.commands.check import parser
from adapter.config import ConfigError, ProblemCode, parse
from tests.unit.adapter.config.test_problems import (
    test_a_problem_says_where_and_what_it_is_and_how_to_fix_it as invalid_files,
)
from tests.unit.adapter.config.test_problems import (
    test_what_works_but_is_probably_not_intended_is_a_warning as doubtful_files,
)

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "check.md").read_text()
SECTIONS = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
# Reported outside the reader of a text: files that are empty, missing, or named by a backend.
BY_FILES = {ProblemCode.EMPTY, ProblemCode.UNREADABLE, ProblemCode.UNUSABLE_FILE}
BY_HOSTILE_FILES = {ProblemCode.NESTED_TOO_DEEPLY}


def reasons() -> set[str]:
    """The reasons of all findings."""
    return {
        keyword.value.value
        for path in (ROOT / "adapter" / "diagnosis").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding"
        for keyword in node.keywords
        if keyword.arg == "reason" and isinstance(keyword.value, ast.Constant)
    }  # fmt: skip


def codes_of(text: str) -> set[ProblemCode]:
    try:
        return {warning.code for warning in parse(text).warnings}
    except ConfigError as refused:
        return {problem.code for problem in (*refused.problems, *refused.warnings)}


def test_every_code_has_a_section_and_every_section_is_of_a_code():
    documented = [section.partition("\n")[0] for section in SECTIONS]
    assert len(documented) == len(set(documented))
    assert set(documented) == {*ProblemCode, *reasons(), "Overlap"}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_a_section_explains_its_code(section):
    _, _, text = section.partition("\n")
    assert len(text.split()) > 7


def test_every_code_of_the_reader_is_reported_for_some_file():
    texts = [case.values[0] for test in (invalid_files, doubtful_files) for case in test.pytestmark[0].args[1]]  # fmt: skip
    reported = set().union(*map(codes_of, [*texts, "", "resourceRules: {cpu: {}}"]))
    assert reported | BY_FILES | BY_HOSTILE_FILES == set(ProblemCode)


def test_a_problem_that_two_checks_find_is_reported_once():
    text = "rules: [{seriesQuery: up, metricsQuery: up, resources: {template: '<<.Resource'}}]"
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert [problem.code for problem in refused.value.problems] == [ProblemCode.INVALID_TEMPLATE]


def test_the_published_schema_is_the_one_that_check_prints(capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["--print-schema"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "configuration.schema.json").read_text(), (
        "run: loadline-adapter check --print-schema > docs/configuration.schema.json"
    )
