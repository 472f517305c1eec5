"""What is printed for a file that cannot be read."""

from typing import Final

NOT_UTF_8: Final = "it is not UTF-8; save it as UTF-8"
"""Such as what PowerShell writes with `>`, which is UTF-16."""


def unread_file(file: object, error: Exception) -> str:
    """Its name and the cause."""
    cause: object = error
    if isinstance(error, FileNotFoundError):
        cause = "no such file"
    elif isinstance(error, UnicodeDecodeError):
        cause = NOT_UTF_8
    elif isinstance(error, OSError) and error.strerror:
        cause = f"cannot be read: {error.strerror}"
    return f"{file}: {cause}"
