"""RE2, typed: google-re2 is imported only here, since its Python API has no annotations."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, cast

import re2

_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")  # RE2 has it, Go's regexp has not


class Pattern(Protocol):
    """A compiled expression."""

    @property
    def groups(self) -> int:
        """The number of groups, without the whole match."""
        ...

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of its named groups."""
        ...

    def search(self, text: str) -> "Match | None":
        """The leftmost match anywhere in the text."""
        ...


class Match(Protocol):
    """Where an expression matched."""

    @property
    def re(self) -> Pattern:
        """The expression."""
        ...

    def group(self, group: int) -> str | None:
        """The text of a group; None when the group did not match."""
        ...


@lru_cache(maxsize=4096)
def pattern(text: str) -> Pattern:
    """A compiled RE2 expression, unanchored; raises `ValueError` with RE2's message."""
    if _ANY_BYTE.search(text):
        raise ValueError(r"invalid escape sequence: \C")
    options = re2.Options()
    options.log_errors = False
    try:
        return cast("Pattern", re2.compile(text, options=options))  # type: ignore[no-untyped-call]
    except re2.error as e:
        message = e.args[0] if e.args else str(e)
        raise ValueError(message.decode() if isinstance(message, bytes) else str(message)) from None
