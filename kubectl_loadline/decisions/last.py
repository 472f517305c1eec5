"""`loadline-scaler why NAMESPACE/NAME`: explains the running scaler's last decision on an autoscaler.

The client needs permission to get `/debug/decisions/*` from the scaler. In the scaler's pod (`kubectl exec`)
its service account is used; from outside, forward the port and use a kubeconfig.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from kubectl_loadline.decisions.metric_names import explained
from scaler.algorithm.derivation import decoded
from scaler.extensions import EXTENSIONS, STEP_TYPES
from wire.api.debug_paths import DECISIONS
from wire.api.status import StatusError, Unavailable
from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.client import KubeClient
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.server_connection import connect_to
from wire.process.command_line.messages import print_error, printable
from wire.process.command_line.parsing import FlagParser
from wire.process.event_loop import run


class _Beside(msgspec.Struct, frozen=True):
    """What the scaler says beside the derivation; empty from scalers of before."""

    metrics_connection: str = ""


def main(arguments: Sequence[str]) -> int:
    """Print the explanation; returns 1 when it cannot be read, 2 when the command line is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    if given.autoscaler.count("/") != 1 or not all(given.autoscaler.split("/")):
        flags.error(f"{given.autoscaler!r} is not of the form NAMESPACE/NAME")
    try:
        body = run(
            read_decision(
                given.server,
                given.autoscaler,
                given.kubeconfig,
                given.ca_file,
                insecure_skip_tls_verify=given.insecure_skip_tls_verify,
            )
        )
    except StatusError as error:
        print_error(f"loadline-scaler why: {error.message}")
        return 1
    except Unavailable as error:
        print_error(f"loadline-scaler why: {error.message}\n{_hint(given.autoscaler)}")
        return 1
    except ConnectionConfigError as error:
        print_error(f"loadline-scaler why: {error}\n{_hint(given.autoscaler)}")
        return 2
    text = printed(body, given.output)
    print(text if given.output == "json" else printable(text))
    return 0


def _hint(autoscaler: str) -> str:
    namespace, name = autoscaler.split("/")
    return (
        f"To find and reach the scaler of the cluster: kubectl loadline why {name} -n {namespace}"
    )


def printed(body: bytes, output: str) -> str:
    """The derivation as text or as indented JSON. The text says how metrics are read only if that is not by kube-apiserver."""
    if output == "json":
        return msgspec.json.format(body, indent=2).decode()
    text = explained(decoded(body, STEP_TYPES), EXTENSIONS)
    connection = msgspec.json.decode(body, type=_Beside).metrics_connection
    return f"{text}\nMetrics are read {connection}." if connection.startswith("directly") else text


async def read_decision(
    server: str,
    autoscaler: str,
    kubeconfig: Path | None,
    ca_file: Path | None,
    *,
    context: ChosenContext = CURRENT,
    ca_pem: str | None = None,
    server_name: str | None = None,
    insecure_skip_tls_verify: bool = False,
) -> bytes:
    """The derivation as JSON, from the scaler at `server`, whose certificate is verified for `server_name` if that is another one.

    Raises `StatusError`, `Unavailable`, `ConnectionConfigError`.
    """
    client = KubeClient(
        await connect_to(
            server,
            ca_file=ca_file,
            ca_pem=ca_pem,
            server_hostname=server_name,
            insecure_skip_tls_verify=insecure_skip_tls_verify,
            kubeconfig=kubeconfig,
            context=context,
            user_agent="loadline-scaler-why",
        )
    )
    namespace, name = (quote(part, safe="") for part in autoscaler.split("/"))
    try:
        return await client.get(f"{DECISIONS}/{namespace}/{name}")
    finally:
        await client.close()


def parser() -> FlagParser:
    """The flags of `why`."""
    parser = FlagParser(
        prog="loadline-scaler why",
        usage="%(prog)s NAMESPACE/NAME [flags]",
        description="Explain the last decision of the running scaler for an autoscaler.",
        examples=[
            (
                "In the scaler's pod",
                "kubectl exec -n monitoring deploy/loadline-scaler -- loadline-scaler why shop/web",
            ),
            (
                "From outside, after `kubectl port-forward deploy/loadline-scaler 10443`",
                "loadline-scaler why shop/web --output=json --ca-file=scaler-ca.crt",
            ),
        ],
    )
    parser.add_argument("autoscaler", metavar="NAMESPACE/NAME", help="the autoscaler")
    parser.add_output()
    parser.add_argument(
        "--server",
        default="https://127.0.0.1:10443",
        metavar="URL",
        help="address of the running scaler",
    )
    parser.add_file(
        "--ca-file",
        help="CA of the scaler's certificate; required unless why runs in the scaler's pod",
    )
    parser.add_boolean(
        "--insecure-skip-tls-verify",
        help="do not verify the scaler's certificate; credentials are then sent to whatever listens at --server",
    )
    parser.add_file(
        "--kubeconfig",
        help="kubeconfig whose user authenticates to the scaler "
        "(default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    return parser
