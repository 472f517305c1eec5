"""`loadline-scaler run`: reconcile autoscalers until SIGTERM."""

import sys
from collections.abc import Sequence
from importlib.metadata import version as version_of
from typing import Final

from prometheus_client import disable_created_metrics

from scaler.commands.logs import start_logging
from scaler.config import Options, add_run_flags, options_of
from scaler.runtime.scaler import run_scaler
from wire.kube.connection import ConnectionConfigError
from wire.serving.flags import FlagParser
from wire.serving.runtime import run
from wire.serving.tls import ServingConfigError

MISCONFIGURED: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Scale until SIGTERM; returns the exit code."""
    start_logging(0)
    options = parse(arguments)
    start_logging(options.verbosity)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    try:
        return run(run_scaler(options, version_of("loadline-autoscaler")))
    except (ConnectionConfigError, ServingConfigError) as error:
        print(f"loadline-scaler: {error}", file=sys.stderr)
        return MISCONFIGURED


def parse(arguments: Sequence[str]) -> Options:
    """The flags. A wrong one ends the program with exit code 2 and says how to fix it."""
    parser = FlagParser(
        prog="loadline-scaler",
        conflict_handler="resolve",
        description="Scale workloads by LoadAutoscalers, or by HorizontalPodAutoscalers in place of the built-in controller.",
        epilog="Durations are Go's: 500ms, 15s, 1m30s. kube-controller-manager's names "
        "(--horizontal-pod-autoscaler-sync-period ...) are accepted. "
        "Another command: `loadline-scaler why NAMESPACE/NAME`.",
    )
    add_run_flags(parser)
    given = parser.parse_args(arguments)
    try:
        return options_of(given)
    except ValueError as error:
        parser.error(str(error))
