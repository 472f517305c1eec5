"""`kubectl loadline status [NAME]`: every autoscaler in a line, or one, and what its dry run would have done."""

import argparse
import sys
import time
from argparse import Namespace
from collections.abc import Sequence

import msgspec

from kubectl_loadline.cluster.autoscaler_name import FORMS, AutoscalerName
from kubectl_loadline.cluster.connecting import Session, Unreachable, connected, ended, existing
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_program_flag,
    cluster_of,
    given_target,
)
from kubectl_loadline.cluster.prometheus_url import add_prometheus_flag, prometheus_url
from kubectl_loadline.status.dry_run import DryRunComparison, compare
from kubectl_loadline.status.listing import listed
from kubectl_loadline.status.recorded_replicas import (
    CURRENT,
    DESIRED,
    recorded,
    replicas_query,
    step_for,
)
from kubectl_loadline.status.row import PROBLEMS, Row, row_of
from kubectl_loadline.status.text import comparison_sentence, counted, detail, table
from kubectl_loadline.terminal.exit_codes import FAILED, FOUND, OK
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from scaler.cluster.status import stored_memory
from wire.api import kube_json
from wire.api.duration import parse_prometheus_duration
from wire.api.status import Unavailable
from wire.process.command_line.parsing import FlagParser

DAY_SECONDS = 86_400.0


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of a dry run, or None; `basis` says what was used, or why there is nothing."""

    comparison: DryRunComparison | None = None
    basis: str = ""


class _Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    autoscalers: tuple[Row, ...]
    dry_run: Compared | None = None


def main(arguments: Sequence[str]) -> int:
    """Print it; returns 1 when something cannot be read, 2 when the command line is wrong, 3 with `--problems` when there are some."""
    flags = parser()
    given = flags.parse_args(arguments)
    if not given.autoscaler:
        return ended("status", _list(given))
    if given.problems:
        flags.error("--problems chooses from a list: leave out NAME")
    target = given_target(flags, given.autoscaler, given.namespace)
    return ended("status", _one(given, target))


async def _list(given: Namespace) -> int:
    async with connected(cluster_of(given)) as session:
        namespace = "" if given.all_namespaces else session.namespace
        listing = await listed(session.client, namespace)
    found = tuple(each for each in listing.rows if each.has_problem or not given.problems)
    if listing.refused:
        print(f"kubectl loadline status: without a kind: {listing.refused}", file=sys.stderr)
    if given.output == "json":
        _print_json(_Document(autoscalers=found))
    elif found:
        print(table(found, with_namespace=given.all_namespaces))
    else:
        print(_none_found(namespace, of_problems=given.problems), file=sys.stderr)
    if not given.problems:
        return OK
    if found:
        return FOUND
    # What was not listed may have a problem, so this is not the answer of a script that checks for none.
    return FAILED if listing.refused else OK


def _none_found(namespace: str, *, of_problems: bool) -> str:
    if of_problems:
        where = f"in the namespace {namespace}" if namespace else "in any namespace"
        return f"No autoscaler {where} has a problem."
    where = f"in the namespace {namespace}: -A lists all namespaces" if namespace else "at all"
    return f"There are no LoadAutoscalers and no HorizontalPodAutoscalers {where}."


async def _one(given: Namespace, target: AutoscalerName) -> int:
    async with connected(cluster_of(given)) as session:
        kind, _, body = await existing(session, target)
        autoscaler = kube_json.decode(body, Autoscaler)
        row = row_of(autoscaler, kind)
        compared = None
        if row.dry_run:
            compared = await compared_in_prometheus(session, given, kind, row)
            if compared.comparison is None:
                basis = f"{compared.basis}. {remembered(body, row)}"
                compared = msgspec.structs.replace(compared, basis=basis)
    if given.output == "json":
        _print_json(_Document(autoscalers=(row,), dry_run=compared))
        return OK
    print(detail(row, "" if compared is None else _sentence(compared)))
    return OK


async def compared_in_prometheus(
    session: Session, given: Namespace, kind: WatchedKind, row: Row
) -> Compared:
    """From the recorded metrics, if Prometheus can be reached and has them."""
    end = time.time()
    step = step_for(given.since)
    try:
        async with prometheus_url(session, url=given.prometheus_url, adapter=given.program) as url:
            actual, wanted = [
                await recorded(
                    url,
                    replicas_query(kind, which, row.namespace, row.name),
                    start=end - given.since,
                    end=end,
                    step=step,
                )
                for which in (CURRENT, DESIRED)
            ]
    except (Unreachable, Unavailable) as error:
        return Compared(basis=f"no history: {error}")
    found = compare(actual, wanted, step_seconds=step)
    if found is None:
        return Compared(
            basis="no history: Prometheus has neither the metrics of the scaler nor those of kube-state-metrics for it "
            "(serviceMonitor.enabled of the scaler chart)"
        )
    basis = f"the replicas that Prometheus has recorded, one sample per {step:g} s"
    return Compared(comparison=found, basis=basis)


def remembered(body: bytes, row: Row) -> str:
    """What the status itself says of the recent past."""
    steps = stored_memory(body).history.recommendations or ()
    now = f"Now the target has {counted(row.current)} and it wants {counted(row.wanted)}"
    if not steps:
        return now
    minutes = (steps[-1].until_unix_seconds - steps[0].since_unix_seconds) / 60
    counts = [each.replicas for each in steps]
    return (
        f"{now}; in the last {minutes:.0f} minutes that its status holds, its metrics recommended "
        f"{min(counts)} to {max(counts)}"
    )


def _sentence(compared: Compared) -> str:
    if compared.comparison is None:
        return f"{compared.basis[:1].upper()}{compared.basis[1:]}."
    return comparison_sentence(compared.comparison, compared.basis)


def _print_json(document: _Document) -> None:
    print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _since(text: str) -> float:
    try:
        seconds = parse_prometheus_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not more than 0")
    return seconds


def parser() -> FlagParser:
    """The flags of `status`."""
    parser = FlagParser(
        prog="kubectl loadline status",
        usage="%(prog)s [NAME] [flags]",
        description="Show what every autoscaler wants, what limits it and why; for one in mode DryRun, also what it would "
        "have done compared with what was.",
        examples=[
            ("Every autoscaler of the cluster", "kubectl loadline status -A"),
            (
                "Is this dry run ready for Enforce?",
                "kubectl loadline status la/web -n shop --since=14d",
            ),
        ],
        notes="You need the right to list loadautoscalers and horizontalpodautoscalers. The comparison of a dry run needs the "
        "metrics of the scaler in Prometheus.\n\n"
        "Exit code 0: printed; with --problems, no autoscaler has one. 1: they cannot be listed, or with --problems not all of them. "
        "2: a flag is wrong. 3: with --problems, some have one.",
    )
    parser.add_argument(
        "autoscaler", nargs="?", default="", metavar="NAME", help=f"only this autoscaler: {FORMS}"
    )
    parser.add_boolean("-A", "--all-namespaces", help="list the autoscalers of all namespaces")
    parser.add_boolean(
        "--problems",
        help=f"list only autoscalers that need a repair (limited by: {', '.join(PROBLEMS)}); exit with 3 if there are some",
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
    parser.add_output()
    add_program_flag(parser, "adapter")
    return parser
