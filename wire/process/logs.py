"""The log of a program: one event per line on standard error, as logfmt or JSON.

Modules log by `logging.getLogger(__name__)`; structlog renders the lines.
"""

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Final

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from wire.process.command_line.parsing import FlagSet

FORMATS: Final = ("text", "json")

_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class LoggingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`--logging-format` and `-v`."""

    format: str = "text"
    verbosity: int = 0


def add_logging_flags(flags: FlagSet, *, levels: str) -> None:
    """Declare both flags; `levels` says what the program logs from which -v on."""
    flags.add_argument(
        "--logging-format",
        choices=FORMATS,
        default="text",
        metavar="FORMAT",
        help="text (logfmt) or json; one line per event on standard error",
    )
    flags.add_argument(
        "-v",
        "--v",
        dest="verbosity",
        type=int,
        default=0,
        metavar="LEVEL",
        help=f"log level: {levels}",
    )


def start_logging(options: LoggingOptions, *, packages: tuple[str, ...], debug_level: int) -> None:
    """Send the log to standard error. From -v=`debug_level` on, `packages` log debug messages too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(options.format))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    level = logging.DEBUG if options.verbosity >= debug_level else logging.INFO
    for package in packages:
        logging.getLogger(package).setLevel(level)


def formatter(name: str) -> logging.Formatter:
    """`time, level, logger, msg`, and `exception` with the whole traceback where there is one."""
    render: list[Processor]
    if name == "json":
        render = [structlog.processors.JSONRenderer()]
    else:
        order = ["time", "level", "logger", "msg"]
        render = [_printable, structlog.processors.LogfmtRenderer(key_order=order)]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            _time_of_record,
            structlog.processors.EventRenamer("msg"),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            *render,
        ],
    )


def _time_of_record(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """When it happened, which is not when it is written."""
    at = datetime.fromtimestamp(event["_record"].created, UTC)
    event["time"] = at.isoformat(timespec="milliseconds")
    return event


def _printable(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Escape what would end a line or drive a terminal; the renderer escapes newlines itself."""
    for key, value in event.items():
        if isinstance(value, str) and _CONTROL.search(value):
            event[key] = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return event
