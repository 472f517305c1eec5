"""`migrate` of a configuration of prometheus-adapter: `loadline-adapter migrate` with the Prometheus of the cluster."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from kubectl_loadline.cluster.adapter_program import adapter_output, cluster_arguments
from kubectl_loadline.cluster.connecting import connected
from kubectl_loadline.cluster.flags import cluster_of
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from kubectl_loadline.commands.migrate.shared import WrongInput, check_outputs, written_values
from kubectl_loadline.migration.chart_values import is_configuration
from kubectl_loadline.terminal.exit_codes import FAILED, FOUND, OK, WRONG
from wire.process import go_yaml
from wire.process.command_line.messages import print_error
from wire.process.yaml_text import as_yaml

Json = dict[str, Any]
INCOMPLETE = 1  # of `loadline-adapter migrate`: a rule could not be replaced


def configurations(documents: Sequence[Json]) -> Iterator[Json]:
    """Those among the documents, and in ConfigMaps."""
    for each in documents:
        if is_configuration(each):
            yield each
        elif each.get("kind") == "ConfigMap":
            texts = each.get("data")
            if isinstance(texts, dict):
                yield from filter(is_configuration, map(_parsed, texts.values()))


def _parsed(text: object) -> object:
    """None for something else in the ConfigMap, which need not be YAML."""
    if not isinstance(text, str):
        return None
    try:
        return go_yaml.load(text)
    except yaml.YAMLError:
        return None


def _check_flags(given: argparse.Namespace) -> None:
    """Raises `WrongInput` for a flag that has no effect on a configuration."""
    of_configuration = f"{given.files[0]} is a configuration of prometheus-adapter"
    if given.rules is not None:
        raise WrongInput(
            f"--rules applies to the conversion of ScaledObjects, and {of_configuration}, whose conversion is printed: redirect stdout to a "
            "file, or use --values for the chart"
        )
    for flag, is_given in (("--as-objects", given.as_objects), ("--enforce", given.enforce)):
        if is_given:
            raise WrongInput(
                f"{flag} applies to the conversion of HPAs and ScaledObjects, and {of_configuration}: remove the flag"
            )


async def migrated_configuration(given: argparse.Namespace, configuration: Json) -> int:
    """Print it with named metrics in place of rules, or write it as values of the chart; the exit code.

    Raises `WrongInput`, `UnusableOutput`, and `Unreachable` without a Prometheus, where the values are compared.
    """
    _check_flags(given)
    check_outputs(given, is_complete=True)
    cluster = cluster_of(given)
    async with (
        connected(cluster) as session,
        prometheus_url(session, url=given.prometheus_url, adapter=given.program) as url,
    ):
        with tempfile.TemporaryDirectory(prefix="loadline-") as folder:
            file = Path(folder) / "config.yaml"
            file.write_text(as_yaml(configuration), "utf-8")
            arguments = [str(file), f"--prometheus-url={url}", *cluster_arguments(cluster)]
            code, printed, messages = await adapter_output(
                "migrate", arguments, progress=session.progress
            )
    checked = f"kubectl loadline check {given.files[0]}"
    if said := messages.decode().rstrip("\n"):
        print_error(said.replace(f"loadline-adapter check {file}", checked))
    if code not in (OK, INCOMPLETE):
        return WRONG
    if not printed:
        return FAILED
    if given.values is not None:
        print_error(written_values(given.values, yaml.safe_load(printed), is_complete=True))
    else:
        sys.stdout.write(printed.decode())
    return FOUND if code == INCOMPLETE else OK
