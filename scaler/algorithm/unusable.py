"""A metric that cannot be used, on its way from where it was found out to where it becomes a value."""

from collections.abc import Iterator
from contextlib import contextmanager


class MetricUnusable(Exception):
    """`message` is what the metric's event and condition say, in upstream's words.

    `error` is what the reconcile's own error says; it may have one more layer.
    """

    def __init__(self, message: str, *, error: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.error = error or message


@contextmanager
def layer(words: str) -> Iterator[None]:
    """Put `words: ` before whatever is found unusable inside."""
    try:
        yield
    except MetricUnusable as found:
        raise MetricUnusable(f"{words}: {found.message}", error=f"{words}: {found.error}") from None


@contextmanager
def error_layer(words: str) -> Iterator[None]:
    """A layer that only the reconcile's error has, not the event and the condition."""
    try:
        yield
    except MetricUnusable as found:
        raise MetricUnusable(found.message, error=f"{words}: {found.error}") from None
