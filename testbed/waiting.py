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
    every_seconds: float | None = None,
) -> T:
    """Poll the condition until its result is true, and return the result.

    `every_seconds`: None for pauses that grow from 0.05 to 0.5 s with the time that has passed, because most conditions start
    a program or send a request.

    An AssertionError means "not yet", so a condition may consist of assertions; the last one is shown in
    DeadlineExceeded. Any other exception is raised at once.
    """
    began_at = time.monotonic()
    ends_at = began_at + deadline_seconds
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
        now = time.monotonic()
        if now >= ends_at:
            raise DeadlineExceeded(f"waited {deadline_seconds:g} s for {what}; at last: {last}")
        time.sleep(pause_seconds(now - began_at) if every_seconds is None else every_seconds)


def pause_seconds(waited_seconds: float) -> float:
    """Until a condition is tried again that has been waited for so long: a twentieth of it, from 0.05 to 0.5 s."""
    return min(max(0.05, waited_seconds / 20), 0.5)


def holds(condition: Callable[[], object], *, seconds: float, every_seconds: float = 0.1) -> None:
    """Poll the condition for so long. Raises AssertionError as soon as its result is not true."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        assert condition(), "it does not hold any more"  # noqa: S101  as `until` reports it
        time.sleep(every_seconds)


def elapse(seconds: float) -> None:
    """Wait for the duration of a measurement."""
    time.sleep(seconds)
