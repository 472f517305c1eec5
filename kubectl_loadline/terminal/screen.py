"""What the terminal of stdout can show: its width, and whether it shows colours (https://no-color.org)."""

import os
import re
import shutil
import sys
import textwrap
from typing import Final, TextIO

# A list item, a label with its column, or an indented sentence.
_BEGIN: Final = re.compile(r" *- | *\S+(?: \S+)? {2,}| *")
_RED: Final = "\x1b[31m"
_RESET: Final = "\x1b[0m"


def screen_columns(stream: TextIO | None = None) -> int | None:
    """The width of the terminal; None if stdout, or `stream`, is a file or a pipe, which nothing is shortened for."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def print_error(text: str) -> None:
    """Sentences on stderr, broken at the width of the terminal."""
    print(wrapped(text, screen_columns(sys.stderr)), file=sys.stderr)


def print_note(command: str, text: str) -> None:
    """A sentence of a command of the plugin, on stderr."""
    print_error(f"kubectl loadline {command}: {text}")


def wrapped(text: str, columns: int | None) -> str:
    """Lines that are longer than the screen, broken between words and indented as their first word. None: nothing is broken."""
    if columns is None:
        return text
    return "\n".join(_wrapped(line, columns) for line in text.splitlines())


def _wrapped(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    begin = _BEGIN.match(line)
    indentation = " " * min(begin.end() if begin else 0, columns // 2)
    return textwrap.fill(
        line,
        columns,
        subsequent_indent=indentation,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shows_colours() -> bool:
    """Only on a terminal that has them, and not with NO_COLOR."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout.isatty()


def red(text: str) -> str:
    """`text` in red, for a problem."""
    return f"{_RED}{text}{_RESET}"
