"""`kubectl loadline migrate [FILE...]`: HPAs, ScaledObjects and prometheus-adapter's rules, or a comparison of decisions."""

import argparse
from collections.abc import Sequence
from typing import Final

from kubectl_loadline.cluster.connecting import Unreachable, connected, ended
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_impersonation_flags,
    add_program_flag,
    add_request_timeout_flag,
    cluster_of,
)
from kubectl_loadline.cluster.prometheus_url import add_prometheus_flag
from kubectl_loadline.commands.migrate.adapter_rules import configurations, migrated_configuration
from kubectl_loadline.commands.migrate.shared import (
    NothingFound,
    WrongInput,
    documents,
    migrated_cluster,
    migrated_files,
    parser_of,
)
from wire.process.command_line.parsing import FlagParser

WITHOUT_FILES: Final = (
    ". migrate takes files; without any, it converts the HPAs and ScaledObjects of the namespace"
)


def main(arguments: Sequence[str]) -> int:
    """0: everything is converted, or agrees; 1: the cluster cannot be read; 2: the input is wrong; 3: something is not."""
    return ended("migrate", _ended(parser().parse_args(arguments)))


async def _ended(given: argparse.Namespace) -> int:
    try:
        return await _migrated(given)
    except NothingFound as error:
        raise Unreachable(str(error)) from error


async def _migrated(given: argparse.Namespace) -> int:
    if given.files and not given.compare:
        originals = [
            each for file in given.files for each in documents(file, if_missing=WITHOUT_FILES)
        ]
        rules = list(configurations(originals))
        if not rules:
            return migrated_files(given, originals)
        if len(originals) > 1 or len(rules) > 1:
            raise WrongInput(
                "a configuration of prometheus-adapter cannot be converted together with other objects: convert them separately"
            )
        return await migrated_configuration(given, rules[0])
    async with connected(cluster_of(given)) as session:
        namespace = "" if given.all_namespaces else session.namespace
        return await migrated_cluster(given, session.client, namespace)


def parser() -> FlagParser:
    """The flags of `migrate`."""
    parser = parser_of(
        "kubectl loadline",
        all_namespaces=" -A",
        why="kubectl loadline why",
        reads="HorizontalPodAutoscaler, ScaledObject or configuration of prometheus-adapter",
        more=" A configuration of prometheus-adapter, or the ConfigMap that contains it, is converted to named metrics, whose values "
        "are compared in Prometheus; the exit code is 3 if a rule could not be replaced.",
        examples=[
            (
                "Convert the rules of prometheus-adapter to values of Loadline's chart",
                "kubectl loadline migrate config.yaml --values=metrics.yaml",
            )
        ],
    )
    parser.add_boolean("-A", "--all-namespaces", help="read all namespaces of the cluster")
    add_cluster_flags(parser)
    add_impersonation_flags(parser)
    add_request_timeout_flag(parser)
    add_prometheus_flag(parser)
    add_program_flag(parser, "adapter")
    return parser
