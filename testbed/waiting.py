"""Waiting for a condition with a deadline, instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NotInTime(Exception):
    """The condition did not come true before its deadline."""


def until(
    condition: Callable[[], T],
    *,
    what: str,
    deadline_seconds: float = 30.0,
    every_seconds: float = 0.05,
) -> T:
    """Ask again and again until the answer is true, and return it.

    An AssertionError means "not yet", so a condition may be written as assertions; the last one is shown in
    NotInTime. Every other error ends the waiting at once.
    """
    ends_at = time.monotonic() + deadline_seconds
    while True:
        last: object
        try:
            answer = condition()
        except AssertionError as not_yet:
            last = not_yet
        else:
            if answer:
                return answer
            last = answer
        if time.monotonic() >= ends_at:
            raise NotInTime(f"waited {deadline_seconds:g} s for {what}; at last: {last}")
        time.sleep(every_seconds)
