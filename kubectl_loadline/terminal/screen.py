"""What the terminal of stdout can show: its width, and whether it shows colours (https://no-color.org)."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from wire.process.command_line.messages import print_error

_RED: Final = "\x1b[31m"
_RESET: Final = "\x1b[0m"


def screen_columns() -> int | None:
    """The width of the terminal; None if stdout is a file or a pipe, which nothing is shortened for."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_note(command: str, text: str) -> None:
    """A sentence of a command of the plugin, on stderr."""
    print_error(f"kubectl loadline {command}: {text}")


def print_hidden(columns: Sequence[str], screen: int | None) -> None:
    """Which columns of a table the terminal has no space for."""
    print_error(f"Hidden at {screen} columns: {', '.join(columns)} (-o wide shows all)")


def shows_colours() -> bool:
    """Only on a terminal that has them, and not with NO_COLOR."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout.isatty()


def red(text: str) -> str:
    """`text` in red, for a problem."""
    return f"{_RED}{text}{_RESET}"
