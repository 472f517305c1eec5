"""`loadline-adapter` without a command: serve until SIGTERM."""

import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from prometheus_client import disable_created_metrics

from adapter.commands.server_flags import parse, server_parser
from adapter.config import ConfigError
from adapter.runtime.metrics_server import run_server
from wire.kube.cluster_access import ConnectionConfigError
from wire.process.allocator import return_large_blocks
from wire.process.command_line.messages import print_error
from wire.process.command_line.parsing import FlagParser
from wire.process.command_line.program import DISTRIBUTION
from wire.process.event_loop import run
from wire.process.logs import start_logging
from wire.serving.options import ServingConfigError

OK: Final = 0
FAILED: Final = 1
MISCONFIGURED: Final = 2

QUERIES_LEVEL: Final = 6
"""From this -v on, queries to Prometheus are logged, as by prometheus-adapter."""

log = logging.getLogger(__name__)


def parser() -> FlagParser:
    """The flags of the server."""
    return server_parser()


def main(arguments: Sequence[str]) -> int:
    """Serve; returns the exit code."""
    settings = parse(arguments)
    start_logging(settings.logging, packages=("adapter", "wire"), debug_level=QUERIES_LEVEL)
    for sentence in settings.ignored:
        log.warning("%s", sentence)
    return_large_blocks()
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library types all but this
    try:
        return OK if run(run_server(settings, version=version(DISTRIBUTION))) else FAILED
    except (ConfigError, ConnectionConfigError, ServingConfigError) as error:
        print_error(f"loadline-adapter: {error}")
        return MISCONFIGURED
