"""What the journal takes from the log of a process, as its users read it: how many lines, warnings and tracebacks."""

import logging
import re
from collections.abc import Callable

from tests.simulation.journal import Journal, Warned
from tests.simulation.process import Process
from tests.simulation.timeline import Timeline

# The identity of a candidate for the Lease, which the seed does not decide.
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

RunningProcess = Callable[[], Process | None]
"""The process whose code runs now."""


class LogCounter(logging.Handler):
    """Counts the lines of each process, and keeps the tracebacks, which no fault may cause."""

    def __init__(self, timeline: Timeline, journal: Journal, running: RunningProcess) -> None:
        super().__init__(logging.INFO)
        self._timeline = timeline
        self._journal = journal
        self._running_process = running

    def emit(self, record: logging.LogRecord) -> None:
        process = self._running_process()
        if process is None:
            return
        name, journal = process.name, self._journal
        journal.log_lines[name] += 1
        text = record.getMessage()
        if record.exc_info:
            text += f": {record.exc_info[1]!r}"
            journal.crashes.append(text)
        text = _RANDOM.sub("<random>", text)
        if record.levelno >= logging.WARNING and process.wire is not None:
            warned = Warned(at=self._timeline.now, process=process.wire.process, text=text)
            journal.warnings.append(warned)
        journal.say(self._timeline.now, f"{name} {record.levelname} {text}")
