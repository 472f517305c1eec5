"""`kubectl loadline status [NAME]`: every autoscaler in a line, or one, and what its dry run would have done."""

import argparse
from collections.abc import Sequence
from typing import Final

from kubectl_loadline.cluster.autoscaler_name import FORMS
from kubectl_loadline.cluster.connecting import ended
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_impersonation_flags,
    add_program_flag,
    add_request_timeout_flag,
    given_target,
)
from kubectl_loadline.cluster.prometheus_url import add_prometheus_flag
from kubectl_loadline.commands.status.of_list import SORT_FIELDS, show_list, watch_one
from kubectl_loadline.commands.status.of_one import show_one
from kubectl_loadline.commands.status.row_output import add_row_output_flag
from kubectl_loadline.status.row import PROBLEMS
from wire.api.duration import parse_prometheus_duration
from wire.process.command_line.parsing import FlagParser

DAY_SECONDS = 86_400.0
# The flags that choose from a list, and so cannot be given with a NAME.
OF_LISTS: Final = ("problems", "selector", "all_namespaces", "sort_by")


def main(arguments: Sequence[str]) -> int:
    """Print it; returns 1 when something cannot be read, 2 when the command line is wrong, 3 with `--problems` when there are some."""
    flags = parser()
    given = flags.parse_args(arguments)
    if given.problems and given.watch:
        flags.error("--problems cannot be used with --watch")
    if not given.autoscaler:
        return ended("status", show_list(given))
    for name in OF_LISTS:
        if getattr(given, name):
            flags.error(f"--{name.replace('_', '-')} applies only to lists: remove NAME")
    target = given_target(flags, given.autoscaler, given.namespace)
    return ended("status", (watch_one if given.watch else show_one)(given, target))


def _sort_field(text: str) -> str:
    """`desired`, and as for kubectl `.desired` or `{.desired}`."""
    field = text.removeprefix("{").removesuffix("}").removeprefix(".").lower()
    field = field.replace("-", "_").replace(" ", "_")
    if field not in SORT_FIELDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(SORT_FIELDS)}")
    return field


def _since(text: str) -> float:
    try:
        seconds = parse_prometheus_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be greater than 0")
    return seconds


def parser() -> FlagParser:
    """The flags of `status`."""
    parser = FlagParser(
        prog="kubectl loadline status",
        usage="%(prog)s [NAME] [flags]",
        description="Show the current and desired replicas of every autoscaler, what limits it and why; for one in mode DryRun, also what it would "
        "have done, compared with what happened.",
        examples=[
            ("Every autoscaler of the cluster", "kubectl loadline status -A"),
            (
                "Watch the list, sorted by replicas",
                "kubectl loadline status --watch --sort-by=current",
            ),
            (
                "Is this dry run ready for Enforce?",
                "kubectl loadline status la/web -n shop --since=14d",
            ),
        ],
        notes="Required permissions: list loadautoscalers and horizontalpodautoscalers, and with --watch, watch them. The comparison of a dry run needs the "
        "metrics of the scaler in Prometheus.\n\n"
        "Exit code 0: success; with --problems, no autoscaler has a problem. 1: the autoscalers, or with --problems some of them, "
        "cannot be listed. 2: a flag is wrong. 3: with --problems, some autoscalers have a problem.",
    )
    parser.add_argument(
        "autoscaler", nargs="?", default="", metavar="NAME", help=f"only this autoscaler: {FORMS}"
    )
    parser.add_boolean("-A", "--all-namespaces", help="list the autoscalers in all namespaces")
    parser.add_argument(
        "-l",
        "--selector",
        default="",
        metavar="LABELS",
        help="list only autoscalers with these labels, such as team=shop,tier!=test",
    )
    add_row_output_flag(parser)
    parser.add_boolean(
        "-w",
        "--watch",
        help="after the list, print each autoscaler that changes, until you press Ctrl-C",
    )
    parser.add_boolean("--no-headers", help="print a table without its headers")
    parser.add_argument(
        "--sort-by",
        type=_sort_field,
        default=None,
        metavar="FIELD",
        help=f"sort a list by one of {', '.join(SORT_FIELDS)} (default: namespace, name and kind)",
    )
    parser.add_boolean(
        "--problems",
        help=f"list only autoscalers with a problem (limited by: {', '.join(PROBLEMS)}); exit with 3 if there are any",
    )
    parser.add_argument(
        "--since",
        type=_since,
        default=DAY_SECONDS,
        metavar="TIME",
        help="how far back a dry run is compared, such as 90m or 14d (default: 1d)",
    )
    add_prometheus_flag(parser)
    add_cluster_flags(parser)
    add_impersonation_flags(parser)
    add_request_timeout_flag(parser)
    add_program_flag(parser, "adapter")
    return parser
