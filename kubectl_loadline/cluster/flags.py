"""The flags that every command has, spelled as for kubectl, and what they mean."""

import argparse
from pathlib import Path
from typing import Final

import msgspec

from kubectl_loadline.cluster.autoscaler_name import AutoscalerName, autoscaler_name
from wire.process.command_line.parsing import FlagParser, FlagSet

FOUND: Final = {
    "scaler": "the one that has the labels of the chart",
    "adapter": "the one that the APIServices of the metrics APIs lead to",
}
"""Which Deployment a command uses if none is named."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster and namespace; `namespace` is empty for that of the context."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str = ""


def add_cluster_flags(parser: FlagSet) -> None:
    """`-n`, `--context` and `--kubeconfig`."""
    parser.add_argument(
        "-n",
        "--namespace",
        default="",
        metavar="NAMESPACE",
        help="namespace (default: that of the context)",
    )
    parser.add_context()
    parser.add_file("--kubeconfig", help="kubeconfig (default: $KUBECONFIG, ~/.kube/config)")


def cluster_of(given: argparse.Namespace) -> Cluster:
    """What these flags say."""
    return Cluster(kubeconfig=given.kubeconfig, context=given.context, namespace=given.namespace)


def given_target(parser: FlagParser, text: str, namespace: str) -> AutoscalerName:
    """The autoscaler that the command line names; ends the program with the fix if it names none."""
    try:
        return autoscaler_name(text, namespace=namespace)
    except ValueError as error:
        parser.error(str(error))


def add_program_flag(parser: FlagSet, program: str) -> None:
    """`--scaler` or `--adapter`: the Deployment, where it cannot be found."""
    parser.add_argument(
        f"--{program}",
        dest="program",
        default="",
        metavar="NAMESPACE/NAME",
        help=f"Deployment of the {program} (default: ${environment_variable(program)}, or {FOUND[program]})",
    )


def add_verification_flag(parser: FlagSet) -> None:
    """`--insecure-skip-tls-verify`."""
    parser.add_boolean(
        "--insecure-skip-tls-verify",
        help="do not verify the certificate of the scaler or the adapter: your credentials, with which anyone can act as you "
        "in the cluster, are then sent to whatever program runs in its pod",
    )


def environment_variable(program: str) -> str:
    """The variable with the default of `--scaler` or `--adapter`."""
    return f"LOADLINE_{program.upper()}"
