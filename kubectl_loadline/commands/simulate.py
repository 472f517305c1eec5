"""`kubectl loadline simulate NAME`: what would be decided with other metrics, at another time or with other replicas.

Everything is read with the user's own rights and decided here, with the algorithm flags of the running scaler.
"""

import time
from argparse import Namespace
from collections.abc import Sequence

from kubectl_loadline.cluster.autoscaler_name import FORMS, AutoscalerName, short_name
from kubectl_loadline.cluster.connecting import connected, ended, existing
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_impersonation_flags,
    add_program_flag,
    cluster_of,
    given_target,
)
from kubectl_loadline.cluster.reported_requests import ReportedRequests
from kubectl_loadline.cluster.scaler_settings import settings_for
from kubectl_loadline.decisions.failed_metrics import with_hint
from kubectl_loadline.decisions.simulated import (
    Simulation,
    add_simulation_flags,
    printed,
    simulate,
)
from kubectl_loadline.terminal.documents import add_output_flag, print_document
from kubectl_loadline.terminal.exit_codes import OK
from kubectl_loadline.terminal.screen import screen_columns
from scaler.algorithm.derivation import encoded
from scaler.runtime.clients import Clients
from wire.kube.mapper import RestMapper
from wire.process.command_line.messages import print_error, wrapped
from wire.process.command_line.parsing import FlagParser


def main(arguments: Sequence[str]) -> int:
    """Print the decision; returns 1 when something cannot be read, 2 when the command line is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    target = given_target(flags, given.autoscaler, given.namespace)
    return ended("simulate", _simulate(given, target))


async def _simulate(given: Namespace, target: AutoscalerName) -> int:
    async with connected(cluster_of(given)) as session:
        kind, namespace, _ = await existing(session, target)
        settings, problem = await settings_for(session, kind, namespace, given.program)
        if problem:
            print_error(f"Default algorithm flags are assumed: {problem}.")
        simulation = Simulation(
            autoscaler=f"{namespace}/{target.name}",
            settings=settings,
            values=dict(given.metric),
            at_unix_seconds=time.time() if given.at is None else given.at,
            replicas=given.replicas,
        )
        clients = Clients.over(session.connection)
        try:
            requests = ReportedRequests(clients.requests, session.progress)
            metrics = ReportedRequests(clients.metrics, session.progress)
            mapper = RestMapper(requests)
            await mapper.refresh()
            decision = await simulate(simulation, requests, metrics, mapper)
        finally:
            await clients.close()
    document = encoded(decision.derivation)
    text = with_hint(printed(decision, settings, "text"), decision.derivation, short_name(kind))
    print_document(given.output, document, lambda: wrapped(text, screen_columns()))
    return OK


def parser() -> FlagParser:
    """The flags of `simulate`."""
    parser = FlagParser(
        prog="kubectl loadline simulate",
        usage="%(prog)s NAME [flags]",
        description="Show what the scaler would decide with other metric values, at another time or with other replicas. "
        "Nothing is written.",
        examples=[
            (
                "With 500 messages in the queue",
                "kubectl loadline simulate worker -n shop --metric=queue=500",
            ),
            (
                "While a metric has failed, on another day, with 12 replicas",
                "kubectl loadline simulate la/worker -n shop --metric=queue=fails --at=2026-11-27T08:00 --replicas=12",
            ),
        ],
        notes="Metrics that are not given are read from the metrics APIs with your permissions, as are the autoscaler, the scale "
        "and the pods of its target. The algorithm flags are those of the running scaler.",
    )
    parser.add_argument("autoscaler", metavar="NAME", help=f"the autoscaler: {FORMS}")
    add_simulation_flags(parser)
    add_cluster_flags(parser)
    add_impersonation_flags(parser)
    add_output_flag(parser)
    add_program_flag(parser, "scaler")
    return parser
