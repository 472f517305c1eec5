"""What a function read from a document, kept until it is given that very document again."""

import functools
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

# Enough for the lists of pods and the answers that the reconciles around one moment have in common.
KEPT_MAX = 1024

Given = TypeVar("Given")
Result = TypeVar("Result")
Others = TypeVarTuple("Others")


def kept_by_identity(
    read: Callable[[Given, *Others], Result],
) -> Callable[[Given, *Others], Result]:
    """Read a document once, although it cannot be hashed. It must not be changed later; the other arguments are hashed."""
    kept: dict[tuple[object, ...], tuple[Given, Result]] = {}

    @functools.wraps(read)
    def kept_or_read(document: Given, /, *others: *Others) -> Result:
        key = (id(document), *others)
        found = kept.get(key)
        if found is None:
            if len(kept) >= KEPT_MAX:
                kept.clear()
            # With the document itself, whose id would be used again.
            kept[key] = found = document, read(document, *others)
        return found[1]

    return kept_or_read
