"""Each code block of a document is run by a test, or `tests/documented_blocks.md` says why not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import documented_blocks
from tests.documented_blocks import LANGUAGES, OUTPUT, PROMPT, ROOT, Block
from tests.shell import lines_not_run

FIXTURES = {"documented_block", "documented_blocks"}
WRITE = "write its row: .venv/bin/python -m tests.documented_blocks"
# What begins a line that a reader would run.
COMMAND = re.compile(
    r"(\$ |kubectl |helm |make |docker |git |pip |go run |(\S*/)?python3? |loadline-(adapter|scaler)( --|$))"
)


def test_each_block_is_run_by_a_test_or_has_a_reason():
    without = [
        f"{block} ({row.title}): {WRITE}, and name a test or a reason in it"
        for block, row in documented_blocks.rows_by_block()
        if not (row.tests or row.reason)
    ]
    assert "\n".join(without) == ""


def test_the_table_has_no_other_rows():
    assert documented_blocks.TABLE.read_text("utf-8") == documented_blocks.written(), WRITE


def test_a_changed_block_has_no_row(monkeypatch):
    """Its tests and its reason are of the text that it had."""
    block, row = documented_blocks.rows_by_block()[0]
    assert row.tests or row.reason
    changed = Block(page=block.page, section="", line=1, language="sh", text=f"{block.text}\n")
    monkeypatch.setattr(documented_blocks, "all_blocks", lambda: (changed,))
    [(_, row)] = documented_blocks.rows_by_block()
    assert (row.tests, row.reason) == ((), "")


def test_the_tests_in_the_table_are_those_that_get_their_blocks_from_it():
    """So a test gets each block that has its name, and no test is without blocks."""
    named = {test for row in documented_blocks.table() for test in row.tests}
    assert named == {
        f"{path.relative_to(ROOT).as_posix()}::{name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in names_with_blocks(path)
    }


def names_with_blocks(path: Path) -> Iterator[str]:
    """The tests of a file that have `documented_block` or `documented_blocks` as an argument."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if "documented_block" in text else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = {each.arg for each in node.args.args}
            if node.name.startswith("test_") and arguments & FIXTURES:
                yield node.name


def test_each_block_has_a_language():
    """Without one, a reader could not see which blocks are commands."""
    wrong = [str(b) for b in documented_blocks.all_blocks() if b.language not in LANGUAGES]
    assert wrong == [], f"not one of {', '.join(sorted(LANGUAGES))}"


def test_every_fence_belongs_to_a_block():
    for page in documented_blocks.pages():
        fences = re.findall(r"^ *```", page.read_text("utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(list(documented_blocks.blocks_in(page))), page


def test_a_block_that_is_run_in_part_has_a_reason():
    wrong = [
        f"{block}: {', '.join(lines)}"
        for block, row in documented_blocks.rows_by_block()
        if (lines := lines_not_run(block.text)) and not row.reason
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "block", [b for b in documented_blocks.all_blocks() if b.language == OUTPUT], ids=str
)
def test_a_block_of_output_has_no_command(block):
    assert [line for line in block.text.splitlines() if COMMAND.match(line)] == []


@pytest.mark.parametrize(
    "block", [b for b in documented_blocks.all_blocks() if b.language == "console"], ids=str
)
def test_a_console_begins_with_a_command(block):
    assert block.text.startswith(PROMPT)


def test_a_block_in_a_list_is_read_without_its_indentation(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(documented_blocks, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A\n## B\n1. Do:\n\n   ```sh\n   a \\\n     b\n   ```\n")
    [block] = documented_blocks.blocks_in(page)
    assert (block.page, block.section, block.line) == ("page.md", "B", 5)
    assert (block.language, block.text) == ("sh", "a \\\n  b\n")
