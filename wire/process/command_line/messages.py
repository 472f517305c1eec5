"""Messages on stderr."""

import shutil
import sys
from textwrap import fill


def print_error(message: str) -> None:
    """Print it; on a terminal, lines are broken between words."""
    sys.stderr.write(f"{wrapped_error(message)}\n")


def wrapped_error(message: str) -> str:
    """`message` as a terminal shows it on stderr; unchanged for a pipe or a file."""
    if not sys.stderr.isatty():
        return message
    columns = shutil.get_terminal_size().columns
    return "\n".join(
        fill(line, columns, break_long_words=False, break_on_hyphens=False)
        for line in message.split("\n")
    )
