"""`loadline-scaler migrate`."""

import argparse
from collections.abc import Sequence
from importlib.metadata import version

from kubectl_loadline.commands.migrate.shared import (
    NothingFound,
    WrongInput,
    documents,
    migrated_cluster,
    migrated_files,
    parser_of,
)
from kubectl_loadline.terminal.exit_codes import FAILED, WRONG
from kubectl_loadline.terminal.output_files import UnusableOutput
from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.connection import connect, kubectl_kubeconfig
from wire.process.command_line.messages import print_error
from wire.process.command_line.parsing import FlagParser
from wire.process.command_line.program import DISTRIBUTION
from wire.process.event_loop import run


def main(arguments: Sequence[str]) -> int:
    """0: everything is converted, or agrees; 1: the cluster cannot be read; 2: the input is wrong; 3: something is not."""
    given = parser().parse_args(arguments)
    try:
        if given.files and not given.compare:
            return migrated_files(given, [each for file in given.files for each in documents(file)])
        return run(_migrated(given))
    except (StatusError, Unavailable) as error:
        print_error(f"loadline-scaler migrate: {error.message}")
        return FAILED
    except NothingFound as error:
        print_error(f"loadline-scaler migrate: {error}")
        return FAILED
    except (WrongInput, UnusableOutput, ConnectionConfigError) as error:
        print_error(f"loadline-scaler migrate: {error}")
        return WRONG


async def _migrated(given: argparse.Namespace) -> int:
    user_agent = f"loadline-scaler-migrate/{version(DISTRIBUTION)}"
    kubeconfig = given.kubeconfig or kubectl_kubeconfig()
    client = KubeClient(await connect(kubeconfig, user_agent=user_agent))
    try:
        return await migrated_cluster(given, client, given.namespace)
    finally:
        await client.close()


def parser() -> FlagParser:
    """The flags of `migrate`."""
    parser = parser_of(
        "loadline-scaler", all_namespaces=" --namespace=shop", why="loadline-scaler why"
    )
    parser.add_argument(
        "--namespace",
        default="",
        metavar="NAMESPACE",
        help="namespace to read (default: all), and of manifests that have none",
    )
    parser.add_file("--kubeconfig", help="kubeconfig of the cluster (default: as kubectl)")
    return parser
