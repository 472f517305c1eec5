"""Replace this process by another program that the kernel kills when the parent process dies.

Run as `python -S -E die_with_parent.py PARENT_PID PROGRAM ARGUMENT...`. Only the kernel's parent death signal works
when the parent gets a SIGKILL, which no handler sees. The setting survives exec, so Python itself does not stay.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h

if __name__ == "__main__":
    parent_pid, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent_pid):  # the parent died before prctl was called
        sys.exit(f"{command[0]}: the parent process is gone")
    try:
        os.execvp(command[0], command)  # noqa: S606  exec without a shell is intended
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
