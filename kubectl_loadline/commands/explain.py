"""`kubectl loadline explain NAME`: each metric of an autoscaler, as the running adapter computes it."""

from argparse import Namespace
from collections.abc import Sequence

from kubectl_loadline.cluster.adapter_program import (
    adapter_arguments,
    cluster_arguments,
    run_adapter,
)
from kubectl_loadline.cluster.autoscaler_name import (
    FORMS,
    AutoscalerName,
    autoscaler_name,
    short_name,
)
from kubectl_loadline.cluster.connecting import (
    Unreachable,
    connected,
    ended,
    existing,
)
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_program_flag,
    add_verification_flag,
    cluster_of,
)
from kubectl_loadline.cluster.programs import adapter_of
from kubectl_loadline.terminal.documents import add_output_flag
from wire.process.command_line.parsing import FlagParser


def main(arguments: Sequence[str]) -> int:
    """0: every metric has a value, or another program serves it; 1: one has none, or the adapter cannot be reached; 2: a flag is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    target: AutoscalerName | str = given.target
    if not given.target.startswith("/"):
        try:
            target = autoscaler_name(given.target, namespace=given.namespace)
        except ValueError as error:
            flags.error(f"{error}, or a path of a metrics API (/apis/...)")
    return ended("explain", _explain(given, target))


async def _explain(given: Namespace, target: AutoscalerName | str) -> int:
    cluster = cluster_of(given)
    async with connected(cluster) as session:
        if isinstance(target, AutoscalerName):
            kind, namespace, _ = await existing(session, target)
            target = f"{short_name(kind)}/{namespace}/{target.name}"
        adapter = await adapter_of(session, given.program)
        async with adapter_arguments(
            session, adapter, skips_verification=given.insecure_skip_tls_verify
        ) as (forward, arguments):
            code = await run_adapter(
                "explain",
                (
                    target,
                    *arguments,
                    *cluster_arguments(cluster),
                ),
                output=given.output,
                progress=session.progress,
            )
            if forward.problem:
                raise Unreachable(f"the {adapter} closed the connection: {forward.problem}")
    return code


def parser() -> FlagParser:
    """The flags of `explain`."""
    parser = FlagParser(
        prog="kubectl loadline explain",
        usage="%(prog)s NAME [flags]",
        description="Explain how the value of each metric of an autoscaler is computed, or where it failed and how to fix it.",
        examples=[
            ("Why does the metric have no value?", "kubectl loadline explain hpa/web -n shop"),
            (
                "One request to a metrics API",
                "kubectl loadline explain '/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length'",
            ),
        ],
        notes="Required permissions: get the autoscaler; get apiservices, or --adapter; in the adapter's namespace list "
        "deployments and pods, get services, get and create pods/portforward; get the nonResourceURL /debug/explain; and "
        "permission to read the metrics.\n\n"
        "Exit code 0: every metric has a value, or another program serves it, as metrics-server serves cpu. 1: one has none, or the adapter cannot be reached. 2: a flag is wrong.",
    )
    parser.add_argument(
        "target", metavar="NAME", help=f"the autoscaler ({FORMS}), or a path of a metrics API"
    )
    add_cluster_flags(parser)
    add_output_flag(parser)
    add_program_flag(parser, "adapter")
    add_verification_flag(parser)
    return parser
