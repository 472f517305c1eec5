"""A reader with a problem does not read walls of text: paragraphs, items of lists and cells of tables are short."""

import re
from collections.abc import Iterator

import pytest

from tests.documented_blocks import ROOT, pages

WORDS_MAX = 110
# Notes of single changes, decisions that are not edited, and pages that are generated.
OTHERS = re.compile(r"^(docs/history\.md|docs/adr/|docs/reference/)")
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
BREAK = re.compile(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |#|\|)")
PIPE = re.compile(r"(?<!\\)\|")


def parts(text: str) -> Iterator[str]:
    """Paragraphs, items and cells."""
    for part in BREAK.split(FENCED.sub("", text)):
        yield from PIPE.split(part) if part.startswith("|") else (part,)


def walls(text: str) -> list[str]:
    return [part.strip() for part in parts(text) if len(part.split()) > WORDS_MAX]


@pytest.mark.parametrize(
    "page",
    [path for path in pages() if not OTHERS.match(path.relative_to(ROOT).as_posix())],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_no_paragraph_is_a_wall_of_text(page):
    found = walls(page.read_text("utf-8"))
    assert found == [], f"make a list of it, or say less: at most {WORDS_MAX} words"


@pytest.mark.parametrize("text", ["a " * 111, f"- {'a ' * 111}", f"| {'a ' * 111}| b |"])
def test_a_wall_of_text_is_reported(text):
    assert len(walls(f"# Title\n\n{text}\n")) == 1


def test_a_list_is_not_a_wall():
    assert walls("- a b c\n" * 60 + "| a | b |\n" * 60) == []
