"""`kubectl loadline why NAME`: the running scaler's last decision, from the replica that made it."""

from argparse import Namespace
from collections.abc import Sequence

from kubectl_loadline.cluster.autoscaler_name import FORMS, AutoscalerName, short_name
from kubectl_loadline.cluster.connecting import (
    Unreachable,
    connected,
    ended,
    existing,
)
from kubectl_loadline.cluster.flags import (
    Cluster,
    add_cluster_flags,
    add_program_flag,
    add_verification_flag,
    cluster_of,
    given_target,
)
from kubectl_loadline.cluster.programs import ScaledByKubernetes, scaler_of
from kubectl_loadline.cluster.scaler_decisions import decision_of
from kubectl_loadline.decisions.failed_metrics import with_hint
from kubectl_loadline.decisions.last import printed
from kubectl_loadline.decisions.metric_names import in_prometheus_words
from kubectl_loadline.terminal.documents import add_output_flag, print_document
from kubectl_loadline.terminal.exit_codes import FAILED, OK
from kubectl_loadline.terminal.screen import print_note, screen_columns
from scaler.algorithm.derivation import decoded
from scaler.api.autoscaler import Autoscaler
from scaler.extensions import STEP_TYPES
from wire.api import kube_json
from wire.process.command_line.messages import print_error, wrapped
from wire.process.command_line.parsing import FlagParser


def main(arguments: Sequence[str]) -> int:
    """Print the explanation; returns 1 when it cannot be read, 2 when the command line is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    target = given_target(flags, given.autoscaler, given.namespace)
    return ended("why", _why(given, cluster_of(given), target))


async def _why(given: Namespace, cluster: Cluster, target: AutoscalerName) -> int:
    async with connected(cluster) as session:
        kind, namespace, body = await existing(session, target)
        try:
            scaler = await scaler_of(session, kind, namespace, given.program)
            async with session.progress.waiting_for(
                f"waiting for the last decision of the {scaler}"
            ):
                decision = await decision_of(
                    session,
                    cluster,
                    scaler,
                    f"{namespace}/{target.name}",
                    skips_verification=given.insecure_skip_tls_verify,
                )
        except Unreachable as error:
            named = f"{short_name(kind)}/{target.name}"
            by_kubernetes = isinstance(error, ScaledByKubernetes)
            problem = (
                f"kube-controller-manager scales {named}, unless its HPA controller is disabled."
                if by_kubernetes
                else str(error)
            )
            print_note("why", problem)
            summary = _summary(body)
            if summary:
                print_error(f"From its status: {namespace}/{target.name} {summary}.")
            print_error(
                f"To compute its decision here: kubectl loadline simulate {named} -n {namespace}"
            )
            return FAILED
    print_document(
        given.output,
        decision,
        lambda: wrapped(
            with_hint(printed(decision, "text"), decoded(decision, STEP_TYPES), short_name(kind)),
            screen_columns(),
        ),
    )
    return OK


def _summary(body: bytes) -> str:
    status = kube_json.decode(body, Autoscaler).status
    if status is None or status.decision is None:
        return ""
    return in_prometheus_words(status.decision.summary)


def parser() -> FlagParser:
    """The flags of `why`."""
    parser = FlagParser(
        prog="kubectl loadline why",
        usage="%(prog)s NAME [flags]",
        description="Explain the last decision of the running scaler for an autoscaler.",
        examples=[
            ("Why does it have this many replicas?", "kubectl loadline why web -n shop"),
            ("Every number of the decision", "kubectl loadline why la/web -n shop -o json"),
        ],
        notes="Required permissions: get the autoscaler; list deployments in all namespaces, or --scaler; in the scaler's "
        "namespace list pods, get and create pods/portforward, get the ConfigMap with its certificates; and get the nonResourceURL "
        "/debug/decisions/*.\n\n"
        "Exit code 0: there is a decision. 1: it cannot be read. 2: a flag is wrong.",
    )
    parser.add_argument("autoscaler", metavar="NAME", help=f"the autoscaler: {FORMS}")
    add_cluster_flags(parser)
    add_output_flag(parser)
    add_program_flag(parser, "scaler")
    add_verification_flag(parser)
    return parser
