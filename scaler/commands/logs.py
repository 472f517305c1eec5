"""The log: one line per event on standard error, in logfmt, so that people and machines both read it."""

import logging
import sys
from datetime import UTC, datetime
from typing import Final

DETAILS_LEVEL: Final = 4
"""From this -v on, debug messages are logged."""


class Logfmt(logging.Formatter):
    """`time=... level=info logger=scaler.reconcile msg="..."`, a traceback on the lines after it."""

    def format(self, record: logging.LogRecord) -> str:
        """One event."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message = record.getMessage().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        line = f'time={at} level={record.levelname.lower()} logger={record.name} msg="{message}"'
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def start_logging(verbosity: int) -> None:
    """Send the log to standard error; `verbosity` is that of -v."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Logfmt())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    level = logging.DEBUG if verbosity >= DETAILS_LEVEL else logging.INFO
    for ours in ("scaler", "wire"):
        logging.getLogger(ours).setLevel(level)
