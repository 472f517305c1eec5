"""`loadline-scaler run`: reconcile autoscalers until SIGTERM."""

import logging
from collections.abc import Sequence
from importlib.metadata import version as version_of
from typing import Final

from prometheus_client import disable_created_metrics

from scaler.runtime.flags import Options, add_run_flags, options_of
from scaler.runtime.scaler import run_scaler
from wire.kube.cluster_access import ConnectionConfigError
from wire.process.allocator import return_large_blocks
from wire.process.command_line.messages import print_error
from wire.process.command_line.parsing import FlagParser
from wire.process.event_loop import run
from wire.process.logs import start_logging
from wire.serving.options import ServingConfigError

MISCONFIGURED: Final = 2
# From this -v on, debug messages are logged.
DETAILS_LEVEL: Final = 4

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Scale until SIGTERM; returns the exit code."""
    options = parse(arguments)
    start_logging(options.logging, packages=("scaler", "wire"), debug_level=DETAILS_LEVEL)
    for sentence in options.serving.ignored:
        log.warning("%s", sentence)
    return_large_blocks()
    disable_created_metrics()  # type: ignore[no-untyped-call]
    try:
        return run(run_scaler(options, version_of("loadline-autoscaler")))
    except (ConnectionConfigError, ServingConfigError) as error:
        print_error(f"loadline-scaler: {error}")
        return MISCONFIGURED


def parse(arguments: Sequence[str]) -> Options:
    """The flags. A wrong one ends the program with exit code 2 and says how to fix it."""
    flags = parser()
    given = flags.parse_args(arguments)
    try:
        return options_of(given)
    except ValueError as error:
        flags.error(str(error))


def parser() -> FlagParser:
    """The flags of `run`."""
    parser = FlagParser(
        prog="loadline-scaler",
        description="Scale workloads according to LoadAutoscalers, or according to HorizontalPodAutoscalers in place of kube-controller-manager.",
        examples=[
            (
                "Reconcile the LoadAutoscalers of two namespaces",
                "loadline-scaler --namespace=shop,billing",
            ),
            (
                "Replace the HPA controller of kube-controller-manager, with two replicas",
                "loadline-scaler --watch=horizontalpodautoscalers --leader-elect",
            ),
        ],
        notes="Durations are Go's: 500ms, 15s, 1m30s. The names of kube-controller-manager's flags "
        "(--horizontal-pod-autoscaler-sync-period ...) are accepted.",
    )
    add_run_flags(parser)
    return parser
