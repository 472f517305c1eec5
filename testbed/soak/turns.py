"""One turn of a source as a process, whose output goes to a log."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from testbed.soak.schedule import Source

# Of a turn that is interrupted, for ending the programs that it has started.
GRACE_SECONDS: Final = 30.0
# A turn that takes so many times longer than expected hangs.
HANGS_RATIO: Final = 10
LOG_LINES: Final = 25


class Turn:
    """Starts with the object. It has a process group of its own, so that Ctrl-C reaches only the soak."""

    def __init__(self, source: Source, first: int, directory: Path) -> None:
        self.source = source
        self.first = first
        name = "".join(each if each.isalnum() else "-" for each in source.name)
        self.log_path = directory / f"{name}-{first}.log"
        self._began = time.monotonic()
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                source.command_for(first),
                env={**os.environ, **source.environment_for(first)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    @property
    def seconds(self) -> float:
        """Since it has started."""
        return time.monotonic() - self._began

    @property
    def hangs(self) -> bool:
        """Whether it takes much longer than it should."""
        return self.seconds > HANGS_RATIO * self.source.turn_seconds

    def end(self) -> None:
        """Interrupt it as Ctrl-C does, then kill what is left of it."""
        if self.exit_code is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def last_line(self) -> str:
        """Of its output, which sums up a turn without a failure."""
        return next(iter(self._log()[-1:]), "no output")

    def log_tail(self) -> str:
        """The end of its output."""
        return "\n".join(f"    {each}" for each in self._log()[-LOG_LINES:])

    def _log(self) -> list[str]:
        return self.log_path.read_text(errors="replace").splitlines()
