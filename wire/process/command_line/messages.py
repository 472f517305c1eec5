"""Messages on stderr, and text that a terminal shows without breaking words, and without obeying it."""

import re
import shutil
import sys
import textwrap
from typing import Final

# A list item, a label with its column, or an indented sentence.
_BEGIN: Final = re.compile(r" *- | *\S+(?: \S+)? {2,}| *")


def printable(text: str) -> str:
    """The text with escapes such as `\\x1b` in place of characters that are not printable, except line breaks.

    Names and messages come from the cluster: a terminal would obey their escape sequences. As `TerminalEscaper` of kubectl
    (cli-runtime/pkg/printers/terminal.go), for more characters.
    """
    if all(map(str.isprintable, text.split("\n"))):
        return text
    return "".join(
        each if each == "\n" or each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def print_error(message: str) -> None:
    """Print it, printable; on a terminal, lines are broken between words."""
    sys.stderr.write(f"{wrapped_error(message)}\n")


def wrapped_error(message: str) -> str:
    """`message` as a terminal shows it on stderr; only made printable for a pipe or a file."""
    is_shown = sys.stderr.isatty()
    return wrapped(message, shutil.get_terminal_size().columns if is_shown else None)


def wrapped(text: str, columns: int | None) -> str:
    """The text, printable. Lines that are longer than the screen are broken between words and indented as their first word.

    None: nothing is broken.
    """
    text = printable(text)
    if columns is None:
        return text
    return "\n".join(_wrapped(line, columns) for line in text.split("\n"))


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
