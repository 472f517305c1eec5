"""The flags that every command has, spelled as for kubectl, and what they mean."""

import argparse
from pathlib import Path
from typing import Final

import msgspec

from kubectl_loadline.cluster.autoscaler_name import AutoscalerName, autoscaler_name
from wire.kube.chosen_context import ChosenContext, add_context_flags, context_of, named_context
from wire.kube.client import REQUEST_TIMEOUT_SECONDS
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.connection import kubectl_kubeconfig
from wire.kube.kubeconfig_files import merged
from wire.process.command_line.parsing import FlagParser, FlagSet, duration_seconds

FOUND: Final = {
    "scaler": "the one with the labels of the chart",
    "adapter": "the one that the APIServices of the metrics APIs point to",
}
"""Which Deployment a command uses if none is named."""
DEFAULT_NAMESPACE: Final = "default"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster and namespace; `namespace` is empty for that of the context.

    `impersonation` are the headers with the user to act as, in place of those of the kubeconfig.
    """

    kubeconfig: Path | None = None
    context: ChosenContext = ChosenContext()
    namespace: str = ""
    impersonation: tuple[tuple[str, str], ...] = ()
    request_timeout_seconds: float = REQUEST_TIMEOUT_SECONDS

    @property
    def used_kubeconfig(self) -> Path | None:
        """The one given, or the one that kubectl uses; None in a pod without any, where its service account is used."""
        return self.kubeconfig or kubectl_kubeconfig()

    def namespace_of_files(self) -> str:
        """Of the objects in files that have none, as for kubectl: that of the flag or of the context, else `default`.

        The cluster is not needed. Raises `ConnectionConfigError` for a kubeconfig that cannot be read.
        """
        kubeconfig = self.used_kubeconfig
        if self.namespace or kubeconfig is None:
            return self.namespace or DEFAULT_NAMESPACE
        try:
            context = named_context(merged(str(kubeconfig)), self.context)
        except FileNotFoundError:
            return DEFAULT_NAMESPACE
        except (OSError, ValueError) as error:
            raise ConnectionConfigError(f"kubeconfig {kubeconfig}: {error}") from error
        return str((context or {}).get("namespace") or DEFAULT_NAMESPACE)


def add_cluster_flags(parser: FlagSet) -> None:
    """`-n`, `--context`, `--cluster`, `--user` and `--kubeconfig`."""
    parser.add_argument(
        "-n",
        "--namespace",
        default="",
        metavar="NAMESPACE",
        help="namespace (default: that of the context)",
    )
    add_context_flags(parser)
    parser.add_file("--kubeconfig", help="kubeconfig (default: $KUBECONFIG, ~/.kube/config)")


def add_impersonation_flags(parser: FlagSet) -> None:
    """`--as` and `--as-group`, for commands that send credentials to the API server only: no other server knows of it."""
    parser.add_argument(
        "--as", dest="as_user", default="", metavar="USER", help="user to impersonate"
    )
    parser.add_argument(
        "--as-group",
        action="append",
        default=[],
        metavar="GROUP",
        help="group to impersonate, with --as; may be repeated",
    )


def add_request_timeout_flag(parser: FlagSet) -> None:
    """`--request-timeout`, in seconds or with a unit, as kubectl reads it."""
    parser.add_argument(
        "--request-timeout",
        type=_timeout_seconds,
        default=REQUEST_TIMEOUT_SECONDS,
        metavar="DURATION",
        help="timeout of a single request to the API server, such as 5s or 1m",
    )


def _timeout_seconds(text: str) -> float:
    seconds = float(text) if text.isdecimal() else duration_seconds(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be greater than 0")
    return seconds


def cluster_of(given: argparse.Namespace) -> Cluster:
    """What these flags say."""
    return Cluster(
        kubeconfig=given.kubeconfig,
        context=context_of(given),
        namespace=given.namespace,
        impersonation=_impersonation(given),
        request_timeout_seconds=getattr(given, "request_timeout", REQUEST_TIMEOUT_SECONDS),
    )


def _impersonation(given: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """The headers of `--as` and `--as-group`. Raises ValueError for a group without a user, which the API server would refuse."""
    user, groups = getattr(given, "as_user", ""), getattr(given, "as_group", ())
    if groups and not user:
        raise ValueError("--as-group requires --as")
    named = (("Impersonate-User", user),) if user else ()
    return (*named, *(("Impersonate-Group", group) for group in groups))


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
