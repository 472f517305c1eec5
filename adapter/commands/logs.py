"""The log: one line per event on standard error, in logfmt, so that people and machines both read it."""

import logging
import sys
from datetime import UTC, datetime
from typing import Final

REQUESTS_LEVEL: Final = 3
"""From this -v on, each request is logged, as by every Kubernetes API server."""

QUERIES_LEVEL: Final = 6
"""From this -v on, queries to Prometheus are logged, as the peer does."""


class Logfmt(logging.Formatter):
    """`time=... level=info logger=adapter.fetch.catalog msg="..."`, a traceback on the lines after it."""

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
    level = logging.DEBUG if verbosity >= QUERIES_LEVEL else logging.INFO
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for ours in ("adapter", "wire"):
        logging.getLogger(ours).setLevel(level)
