"""The code blocks of the documents, and the table of what runs each of them (`documented_blocks.md`).

A test gets its blocks from the table by its argument `documented_blocks`, or one at a time by `documented_block`. A block that is new or changed has no valid row, and `tests/tidy/test_documented_blocks.py` fails. Then write the rows:

    .venv/bin/python -m tests.documented_blocks

and fill in those without a test: the test that runs the block, or the reason why none does.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import msgspec

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".md")
OUTPUT = "text"
"""The language of blocks that are not to be run or applied: outputs, formulas, diagrams."""

LANGUAGES = {"sh", "console", "yaml", "python", OUTPUT}
PROMPT = "$ "
"""Begins a command in a block of the language `console`; the other lines are output."""

_FENCE = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_INTRODUCTION = """# What runs the code blocks of the documents

Each block of a document is run by a test as it is written, or has the reason why not. In every block, the command lines are
parsed by the programs' own parsers (`tests/tidy/test_documented_commands.py`). How to add a row: `documented_blocks.py`.
"""
_COLUMNS = "| block | fingerprint | run by | not run, because |\n|---|---|---|---|\n"
_COLUMN = re.compile(r"(?<!\\)\|")
_SHOWN_CHARACTERS = 60


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block of a document, without its indentation."""

    page: str
    section: str
    line: int
    language: str
    text: str

    @property
    def fingerprint(self) -> str:
        """Another one for each change of the block."""
        return hashlib.sha256(f"{self.language}\n{self.text}".encode()).hexdigest()[:8]

    @property
    def title(self) -> str:
        """How the table names it: its beginning."""
        words = " ".join(self.text.replace("`", "'").split())
        return words if len(words) <= _SHOWN_CHARACTERS else f"{words[:_SHOWN_CHARACTERS]}…"

    def __str__(self) -> str:
        return f"{self.page} line {self.line}"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What the table says of a block."""

    page: str
    title: str
    fingerprint: str
    tests: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        tests = ", ".join(f"`{test}`" for test in self.tests)
        title = self.title.replace("|", r"\|")
        return f"| `{title}` | {self.fingerprint} | {tests} | {self.reason} |".replace(
            "|  |", "| |"
        )


def pages() -> list[Path]:
    """The documents."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("charts/*/README.md")]
    return sorted(found, key=lambda page: (page.name != "README.md", page))


@cache
def all_blocks() -> tuple[Block, ...]:
    """Every block of every document, in order."""
    return tuple(block for page in pages() for block in blocks_in(page))


def blocks_in(page: Path) -> Iterator[Block]:
    """The blocks of a document, in order."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        headings = _HEADING.findall(text[: found.start()])
        yield Block(
            page=page.relative_to(ROOT).as_posix(),
            section=headings[-1] if headings else "",
            line=text.count("\n", 0, found.start()) + 1,
            language=found[2],
            text=dedent(found[3]),
        )


def commands_with_output(console: str) -> Iterator[tuple[str, str]]:
    """Each command of a console, and what the document shows below it."""
    for part in f"\n{console}".split(f"\n{PROMPT}")[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def blocks_to_run() -> list[Block]:
    """Those that have a row in the table."""
    return [block for block in all_blocks() if block.language != OUTPUT]


@cache
def table() -> tuple[Row, ...]:
    """The rows of the table."""
    return tuple(_rows_in(TABLE.read_text("utf-8")))


def _rows_in(text: str) -> Iterator[Row]:
    page = ""
    for line in text.splitlines():
        if line.startswith("## "):
            page = line.removeprefix("## ")
        elif line.startswith("| `"):
            _, title, fingerprint, tests, reason, _ = map(str.strip, _COLUMN.split(line))
            yield Row(
                page=page,
                title=title.strip("`").replace(r"\|", "|"),
                fingerprint=fingerprint,
                tests=tuple(re.findall(r"`([^`]+)`", tests)),
                reason=reason,
            )


def rows_by_block() -> list[tuple[Block, Row]]:
    """Each block with its row; one that is new or changed has a row without a test and a reason."""
    left = list(table())
    found = []
    for block in blocks_to_run():
        same = (r for r in left if (r.page, r.fingerprint) == (block.page, block.fingerprint))
        row = next(same, None)
        if row is None:
            row = Row(page=block.page, title=block.title, fingerprint=block.fingerprint)
        else:
            left.remove(row)
        found.append((block, row))
    return found


def blocks_run_by(test: str) -> list[Block]:
    """The blocks of `file::test` in the table, in the order of the documents."""
    return [block for block, row in rows_by_block() if test in row.tests]


def written() -> str:
    """The table with a row for each block, and with what it says already."""
    text, page = _INTRODUCTION, ""
    for _, row in rows_by_block():
        if row.page != page:
            page = row.page
            text += f"\n## {page}\n\n{_COLUMNS}"
        text += f"{row}\n"
    return text


if __name__ == "__main__":
    TABLE.write_text(written(), "utf-8")
