"""Poll a condition until a deadline, instead of sleeping for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The condition did not become true before its deadline."""


def until(
    condition: Callable[[], T],
    *,
    what: str,
    deadline_seconds: float = 30.0,
    every_seconds: float = 0.05,
) -> T:
    """Poll the condition until its result is true, and return the result.

    An AssertionError means "not yet", so a condition may consist of assertions; the last one is shown in
    DeadlineExceeded. Any other exception is raised at once.
    """
    ends_at = time.monotonic() + deadline_seconds
    while True:
        last: object
        try:
            result = condition()
        except AssertionError as not_yet:
            last = not_yet
        else:
            if result:
                return result
            last = result
        if time.monotonic() >= ends_at:
            raise DeadlineExceeded(f"waited {deadline_seconds:g} s for {what}; at last: {last}")
        time.sleep(every_seconds)


def holds(condition: Callable[[], object], *, seconds: float, every_seconds: float = 0.1) -> None:
    """Poll the condition for so long. Raises AssertionError as soon as its result is not true."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        assert condition(), "it does not hold any more"  # noqa: S101  as `until` reports it
        time.sleep(every_seconds)


def elapse(seconds: float) -> None:
    """Wait for the duration of a measurement."""
    time.sleep(seconds)
