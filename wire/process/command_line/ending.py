"""How a command line begins and ends: closed descriptors, Ctrl-C, and output that is not read to its end or has no space."""

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from typing import Final

from wire.process.command_line.messages import print_error

FAILED: Final = 1
INTERRUPTED: Final = 130
"""Ctrl-C, as shells report SIGINT (128 + 2)."""
PIPE_CLOSED: Final = 141
"""The reader of stdout has gone, as shells report SIGPIPE (128 + 13)."""
# Of write(2) to a file.
_UNWRITABLE: Final = (errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC)


def quiet_end(program: str, work: Callable[[], int]) -> int:
    """Run `work`; returns its exit code, or that of Ctrl-C or of a closed pipe, for which nothing is printed.

    Stdout that cannot be written, such as on a full disk, is a message of `program`.
    """
    _open_standard_streams()
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
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _discard_stdout()
        # Stderr may be on the same disk.
        with contextlib.suppress(OSError):
            print_error(f"{program}: stdout cannot be written: {error.strerror}")
        return FAILED


def _open_standard_streams() -> None:
    """Open /dev/null for those that the caller has closed, as the runtime of Go (`checkfds`): else the next file would be one of them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Opens the smallest that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Python has none for a descriptor that was closed.
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _discard_stdout() -> None:
    """What is still buffered would fail again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
