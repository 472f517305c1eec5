"""PURE: the value of a header as text: aiohttp keeps bytes that are not UTF-8 as surrogates, which JSON cannot have."""


def is_not_text(value: str) -> bool:
    """Whether it has bytes that are not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def header_text(value: str) -> str:
    """A header's value with U+FFFD for what is not UTF-8, as Go writes it into JSON."""
    if not is_not_text(value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
