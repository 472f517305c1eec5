"""`kubectl loadline migrate [FILE...]`: HPAs and ScaledObjects to LoadAutoscalers, or a comparison of both."""

import argparse
from collections.abc import Sequence

from kubectl_loadline.cluster.connecting import connected, ended
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_impersonation_flags,
    add_request_timeout_flag,
    cluster_of,
)
from kubectl_loadline.commands.migrate.shared import migrated_cluster, migrated_files, parser_of
from wire.process.command_line.parsing import FlagParser


def main(arguments: Sequence[str]) -> int:
    """0: everything is converted, or agrees; 1: the cluster cannot be read; 2: the input is wrong; 3: something is not."""
    return ended("migrate", _migrated(parser().parse_args(arguments)))


async def _migrated(given: argparse.Namespace) -> int:
    if given.files and not given.compare:
        return migrated_files(given)
    async with connected(cluster_of(given)) as session:
        namespace = "" if given.all_namespaces else session.namespace
        return await migrated_cluster(given, session.client, namespace)


def parser() -> FlagParser:
    """The flags of `migrate`."""
    parser = parser_of("kubectl loadline", all_namespaces=" -A", why="kubectl loadline why")
    parser.add_boolean("-A", "--all-namespaces", help="read all namespaces of the cluster")
    add_cluster_flags(parser)
    add_impersonation_flags(parser)
    add_request_timeout_flag(parser)
    return parser
