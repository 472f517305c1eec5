"""Child processes with a log file; the kernel kills them when this process dies."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.waiting import DeadlineExceeded, until

DIE_WITH_PARENT = Path(__file__).with_name("die_with_parent.py")

# The kernel sends the parent death signal when the *thread* that forked ends. So every program is started by one
# thread that lives as long as the interpreter.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="testbed-spawner")
_logs: list[Path] = []
_logs_lock = threading.Lock()


class ProcessFailed(Exception):
    """A program exited or was not ready in time; the message has the end of its log."""


def log_paths() -> list[Path]:
    """The logs of all programs that this process started, for reports of failed tests."""
    with _logs_lock:
        return list(_logs)


def dying_with_parent(command: Sequence[str | Path]) -> list[str]:
    """A command line that runs `command` so that it dies with this process."""
    return [sys.executable, "-S", "-E", str(DIE_WITH_PARENT), str(os.getpid()), *map(str, command)]


class Process:
    """A running program. Use as a context manager, or call `stop`."""

    def __init__(self, name: str, popen: "subprocess.Popen[bytes]", log_path: Path) -> None:
        self.name = name
        self.log_path = log_path
        self._popen = popen

    @property
    def pid(self) -> int:
        """The program's process id, which exec has kept."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    def log(self) -> str:
        """Everything written to stdout and stderr so far."""
        return self.log_path.read_text(errors="replace")

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the log."""
        return "\n".join(self.log().splitlines()[-lines:])

    def wait_until(
        self, ready: Callable[[], object], *, what: str, deadline_seconds: float = 60.0
    ) -> None:
        """Poll until `ready()` is true. Raises ProcessFailed when the program exits first or at the deadline."""

        def ready_or_ended() -> object:
            return self.exit_code is not None or ready()

        try:
            until(ready_or_ended, what=what, deadline_seconds=deadline_seconds)
        except DeadlineExceeded as late:
            raise self.failed(str(late)) from None
        if self.exit_code is not None:
            raise self.failed(f"ended with exit code {self.exit_code} before {what}")

    def failed(self, why: str) -> ProcessFailed:
        """An error with the path and the end of the log."""
        return ProcessFailed(f"{self.name}: {why}\nThe end of {self.log_path}:\n{self.log_tail()}")

    def wait(self, deadline_seconds: float = 60.0) -> int:
        """Wait until the program exits by itself; returns the exit code."""
        try:
            return self._popen.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            raise self.failed(f"still running after {deadline_seconds:g} s") from None

    def stop(self, grace_seconds: float = 10.0) -> int:
        """Send SIGTERM, then SIGKILL after the grace period; returns the exit code. Does nothing to an exited program."""
        if self.exit_code is None:
            self._popen.terminate()
        try:
            return self._popen.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """Send SIGKILL; returns the exit code."""
        self._popen.kill()
        return self._popen.wait()

    def send_signal(self, number: int) -> None:
        """SIGHUP to reload, SIGSTOP to hang, and the like."""
        self._popen.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start(
    name: str,
    command: Sequence[str | Path],
    *,
    log_path: Path,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Process:
    """Start `command` with stdout and stderr appended to `log_path`; `environment` is added to this process's.

    It runs in a session of its own: Ctrl-C reaches only this process, which stops its programs in order.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with _logs_lock:
        if log_path not in _logs:
            _logs.append(log_path)

    def spawn() -> "subprocess.Popen[bytes]":
        with log_path.open("ab") as log:
            return subprocess.Popen(
                dying_with_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                cwd=directory,
                start_new_session=True,
            )

    return Process(name, _spawner.submit(spawn).result(), log_path)
