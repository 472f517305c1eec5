"""`loadline-scaler why NAMESPACE/NAME`: the last decision on an autoscaler, from the running scaler, in words.

Who may read the scaler's `/debug/decisions` may ask. Inside its pod (`kubectl exec`) that is the
scaler itself; from outside, forward its port and have a kubeconfig.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from scaler.model.derivation import Derivation
from scaler.report.why import explain
from scaler.serve import DECISIONS
from wire.command_line.parsing import FlagParser
from wire.kube.client import KubeClient
from wire.kube.connection import ConnectionConfigError, connect_to
from wire.serving.event_loop import run
from wire.status import StatusError, Unavailable


def main(arguments: Sequence[str]) -> int:
    """Print it; 1 when it cannot be had, 2 when the command line is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    if given.autoscaler.count("/") != 1 or not all(given.autoscaler.split("/")):
        flags.error(f"{given.autoscaler!r} is no NAMESPACE/NAME")
    try:
        body = run(ask(given.server, given.autoscaler, given.kubeconfig, given.ca_file))
    except (StatusError, Unavailable) as error:
        print(f"loadline-scaler why: {error.message}", file=sys.stderr)
        return 1
    except ConnectionConfigError as error:
        print(f"loadline-scaler why: {error}", file=sys.stderr)
        return 2
    print(printed(body, given.output))
    return 0


def printed(body: bytes, output: str) -> str:
    """The derivation as text, or as JSON that people can read as well."""
    if output == "json":
        return msgspec.json.format(body, indent=2).decode()
    return explain(msgspec.json.decode(body, type=Derivation))


async def ask(server: str, autoscaler: str, kubeconfig: Path | None, ca_file: Path | None) -> bytes:
    """The scaler's answer. Raises `StatusError`, `Unavailable`, `ConnectionConfigError`."""
    client = KubeClient(
        await connect_to(
            server, ca_file=ca_file, kubeconfig=kubeconfig, user_agent="loadline-scaler-why"
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
        description="Show how the running scaler made its last decision on an autoscaler.",
        examples=[
            (
                "In the scaler's pod",
                "kubectl exec -n loadline deploy/loadline-scaler -- loadline-scaler why shop/web",
            ),
            (
                "From outside, after `kubectl port-forward deploy/loadline-scaler 10443`",
                "loadline-scaler why shop/web --output=json",
            ),
        ],
    )
    parser.add_argument("autoscaler", metavar="NAMESPACE/NAME")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    parser.add_argument(
        "--server", default="https://127.0.0.1:10443", help="the running scaler (%(default)s)"
    )
    parser.add_argument("--ca-file", type=Path, help="CA of its certificate, where it is not local")
    parser.add_argument("--kubeconfig", type=Path, help="who asks; default: as kubectl")
    return parser
