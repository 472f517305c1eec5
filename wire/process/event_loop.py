"""The event loop of a program: uvloop if it is installed, and shutdown on SIGTERM or SIGINT."""

import asyncio
import gc
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from wire.process.garbage import Survivors

T = TypeVar("T")
# How long a thread may compute while the event loop waits for the interpreter; Python's default is 5 ms.
SWITCH_SECONDS = 0.001


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, on uvloop if it is installed, which halves the time per TLS request.

    The garbage collector does not check again what survives (`wire.process.garbage`): what was imported takes 30 ms each time.
    New objects are checked as often as by default: less often, large requests of hostile clients would stay in memory for longer.
    A thread that makes megabytes of text holds up each step of the event loop by `SWITCH_SECONDS`.
    """
    collected = Survivors().collected
    gc.callbacks.append(collected)
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        return _on_fastest_loop(main)
    finally:
        gc.callbacks.remove(collected)


def _on_fastest_loop(main: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def stop_requested(
    signals: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT),
) -> asyncio.Event:
    """Set by the first of these signals; a second one terminates the process at once."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        event.set()
        loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, stop, number)
    return event
