"""How a command line ends that the user interrupts, or whose output is not read to its end."""

import os
import sys
from collections.abc import Callable

from kubectl_loadline.terminal.exit_codes import INTERRUPTED, PIPE_CLOSED


def quiet_end(work: Callable[[], int]) -> int:
    """Run `work`; returns its exit code, or that of Ctrl-C or of a closed pipe, for which nothing is printed."""
    try:
        try:
            return work()
        finally:
            # Here, because an error when the interpreter flushes it could not be caught.
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return PIPE_CLOSED


def _discard_stdout() -> None:
    """What is still buffered would fail again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
