"""What the terminal of stdout can show: its width, and whether it shows colours (https://no-color.org)."""

import os
import shutil
import sys
from typing import Final

_RED: Final = "\x1b[31m"
_RESET: Final = "\x1b[0m"


def screen_columns() -> int | None:
    """The width of the terminal; None if stdout is a file or a pipe, which nothing is shortened for."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def shows_colours() -> bool:
    """Only on a terminal that has them, and not with NO_COLOR."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout.isatty()


def red(text: str) -> str:
    """`text` in red, for a problem."""
    return f"{_RED}{text}{_RESET}"
