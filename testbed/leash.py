"""Become another program that the kernel kills when the process that started it dies.

Run as `python -S -E leash.py PARENT_PID PROGRAM ARGUMENT...`. Only a death signal set by the kernel survives
a SIGKILL of the parent, which no handler of ours could see. It outlives exec, so nothing of Python remains.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h

if __name__ == "__main__":
    parent_pid, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent_pid):  # it died before the kernel was told
        sys.exit(f"{command[0]}: the process that starts it is gone")
    try:
        os.execvp(command[0], command)  # noqa: S606  to become the program, without a shell, is the point
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
