"""What is printed for a file that cannot be read."""


def unread_file(file: object, error: Exception) -> str:
    """Its name and the cause."""
    cause = "no such file" if isinstance(error, FileNotFoundError) else error
    return f"{file}: {cause}"
