"""Lists and tables of all pages as readers see them: rendered with the settings of the site, and compared with the source."""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import markdown
import pytest
from mkdocs.config import load_config

from tests.documented_blocks import ROOT, pages

FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^ *(?:[-*+]|(\d+)\.) \S", re.MULTILINE)
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
UNDERLINE = re.compile(r"^\|(?: *:?-+:? *\|)+$", re.MULTILINE)
PIPE = re.compile(r"(?<!\\)\|")


class Seen(HTMLParser):
    """What a reader sees of lists and tables."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int | None] = []
        """Of each item of a list in order, None in a list without numbers."""
        self.tables: list[list[list[str]]] = []
        """The texts of the cells of each row; the first row is that of the titles."""
        self.texts: list[str] = []
        """Outside of tables and code."""
        self._open: list[str] = []
        self._lists: list[int | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        match tag:
            case "ol" | "ul":
                self._lists.append(0 if tag == "ol" else None)
            case "li":
                before = self._lists[-1]
                self._lists[-1] = None if before is None else before + 1
                self.numbers.append(self._lists[-1])
            case "table":
                self.tables.append([])
            case "tr":
                self.tables[-1].append([])
            case "td" | "th":
                self.tables[-1][-1].append("")
            case "p":
                self.texts.append("")
            case "br" | "img" | "hr" | "input":
                self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ol", "ul"):
            self._lists.pop()
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data
        elif "p" in self._open and "code" not in self._open:
            self.texts[-1] += data


@cache
def renderer() -> markdown.Markdown:
    config = load_config(str(ROOT / "mkdocs.yml"))
    return markdown.Markdown(
        extensions=config["markdown_extensions"], extension_configs=config["mdx_configs"]
    )


def seen(text: str) -> Seen:
    found = Seen()
    found.feed(renderer().reset().convert(text))
    return found


def problems(text: str) -> Iterator[str]:
    """What is seen in another way than it is written."""
    rendered, source = seen(text), FENCED.sub("", text)
    written = [int(number) if number else None for number in ITEM.findall(source)]
    if rendered.numbers != written:
        yield f"list items are numbered {rendered.numbers}, and written as {written}"
    titles = [line.count("|") for line in UNDERLINE.findall(source)]
    if len(rendered.tables) != len(titles):
        yield f"{len(rendered.tables)} tables are seen, and {len(titles)} written"
    for table in rendered.tables:
        if not any(table[0]):
            yield f"a table has no titles: {table[1]}"
    for rows in re.findall(r"(?:^\|.*\|\n)+", source, re.MULTILINE):
        pipes = [len(PIPE.findall(row)) for row in rows.splitlines()]
        yield from (
            f"another number of cells than the titles: {row}"
            for row, count in zip(rows.splitlines(), pipes, strict=True)
            if count != pipes[0]
        )
    yield from (f"a sign of Markdown is seen: {text}" for text in rendered.texts if re.search(r"^\||\|$|```|^(-|\d+\.) ", text, re.MULTILINE))  # fmt: skip


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lists_and_tables_are_seen_as_they_are_written(page: Path):
    assert "\n".join(problems(page.read_text("utf-8"))) == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1. A\n\n   ```sh\n   a\n   ```\n2. B\n", id="a block that ends a list"),
        pytest.param("Text:\n- A\n- B\n", id="a list without an empty line before it"),
        pytest.param("1. A\n\nText\n\n2. B\n", id="a text that ends a list"),
        pytest.param("| a | b |\n|---|---|\n| `x|y` | z |\n", id="a pipe that separates cells"),
        pytest.param("| | |\n|---|---|\n| a | b |\n", id="no titles"),
        pytest.param("Text\n| a | b |\n|---|---|\n| c | d |\n", id="a table in a paragraph"),
    ],
)
def test_what_is_not_seen_as_it_is_written_is_reported(text: str):
    assert list(problems(text))


@pytest.mark.parametrize(
    "text",
    [
        "1. A\n\n    ```sh\n    - a\n    ```\n\n2. B\n",
        "- A\n\n    1. B\n\n    2. C\n",
        "Text\n\n| a | b |\n|---|---|\n| `x\\|y` | z |\n",
    ],
)
def test_what_is_seen_as_it_is_written_is_not_reported(text: str):
    assert list(problems(text)) == []
