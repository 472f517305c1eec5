"""`loadline-adapter check FILE...`: offline the faults of each configuration; with a Prometheus, what each rule yields."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from adapter.commands.check_text import text_of
from adapter.commands.prometheus_flags import add_prometheus_flags, prometheus_settings
from adapter.config import ConfigError, unreadable
from adapter.config.json_schema import CONFIGURATION
from adapter.config.sources import Source, sources
from adapter.diagnosis.check_report import Report
from adapter.runtime.checking import checked
from adapter.runtime.server_settings import PrometheusSettings
from wire.api.status import StatusError, Unavailable
from wire.kube.chosen_context import ChosenContext, add_context_flags, context_of
from wire.kube.cluster_access import ConnectionConfigError
from wire.process.command_line.messages import print_error, printable
from wire.process.command_line.parsing import FlagParser
from wire.process.event_loop import run
from wire.process.go_yaml import decoded_text
from wire.serving.options import ServingConfigError

OK: Final = 0
INCOMPLETE: Final = 1
FAULTY: Final = 2


EXPECTED: Final = (
    "Expected a file with rules or metrics, a ConfigMap with such a file as text in its data, such as config.yaml, "
    "or values of the chart"
)
STDIN: Final = "-"
STDIN_NAME: Final = "(stdin)"


class _PrintSchema(argparse.Action):
    """Print the JSON Schema of the configuration, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - argparse's signature
        values: object,  # noqa: ARG002 - argparse's signature
        option_string: str | None = None,  # noqa: ARG002 - argparse's signature
    ) -> None:
        print(schema_text(), end="")
        parser.exit()


def schema_text() -> str:
    """The JSON Schema as it is published in docs/configuration.schema.json."""
    return msgspec.json.format(msgspec.json.encode(CONFIGURATION), indent=2).decode() + "\n"


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[str, ...]
    output: str
    strict: bool
    kubeconfig: Path | None
    context: ChosenContext
    prometheus: PrometheusSettings | None  # None: offline


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong. 0: usable; 1: usable, but not everything could be checked; 2: not usable."""
    given = _parsed(arguments)
    try:
        found = [source for file in given.files for source in _sources(file)]
        reports = [run(_checked(source, given)) for source in found]
    except (StatusError, Unavailable) as error:
        print_error(f"loadline-adapter check: {error.message}")
        return INCOMPLETE
    except (ConfigError, ConnectionConfigError, ServingConfigError, OSError, ValueError) as error:
        print_error(f"loadline-adapter check: {error}")
        return FAULTY
    if not reports:
        print_error(f"{', '.join(given.files)}: no configuration found. {EXPECTED}")
        return FAULTY
    _print(reports, given.output)
    if not all(report.ok for report in reports):
        return FAULTY
    return INCOMPLETE if any(report.unreachable for report in reports) else OK


def _sources(file: str) -> tuple[Source, ...]:
    """Every configuration in a file, or in stdin. Raises `ConfigError`."""
    path = Path(STDIN_NAME if file == STDIN else file)
    try:
        content = sys.stdin.buffer.read() if file == STDIN else path.read_bytes()
        text = decoded_text(content)
    except (OSError, UnicodeDecodeError) as error:
        fix = "Name a file with a configuration."
        return (Source(name=str(path), error=unreadable(path, error, fix=fix)),)
    if file == STDIN and not text.strip():
        fix = "Check whether the command before the pipe failed."
        return (Source(name=str(path), error=unreadable(path, "it is empty", fix=fix)),)
    return tuple(map(_briefly_named, sources(text, file=str(path))))


def _briefly_named(source: Source) -> Source:
    """An object from stdin has a name of its own; Helm values have none."""
    name = source.name.removeprefix(f"{STDIN_NAME}: ")
    return source if name.startswith("values") else msgspec.structs.replace(source, name=name)


async def _checked(source: Source, given: _Given) -> Report:
    return await checked(
        source,
        prometheus=given.prometheus,
        kubeconfig=given.kubeconfig,
        context=given.context,
        strict=given.strict,
        user_agent=f"loadline-adapter-check/{version('loadline-autoscaler')}",
    )


def _print(reports: Sequence[Report], output: str) -> None:
    if output == "json":
        document = reports[0] if len(reports) == 1 else reports
        print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    for report in reports:
        print(printable(text_of(report)), file=sys.stderr if report.errors else sys.stdout)


def parser() -> FlagParser:
    """The flags of `check`."""
    parser = FlagParser(
        prog="loadline-adapter check",
        usage="%(prog)s [flags] FILE...",
        description="Validate configurations: files given to --config, ConfigMaps, values of the charts, HelmReleases and "
        "Applications that contain such values. With --prometheus-url, also report what each rule "
        "yields, or why it yields nothing.",
        examples=[
            (
                "Check a file without a Prometheus, in CI",
                "loadline-adapter check --strict config.yaml",
            ),
            (
                "Check what a release has, or what a chart renders",
                "helm template charts/adapter -f values.yaml | loadline-adapter check -",
            ),
            (
                "Try each rule on a Prometheus",
                "loadline-adapter check config.yaml --prometheus-url=http://localhost:9090",
            ),
        ],
        notes="Exit code 0: the file is valid. 1: it is valid, but Prometheus or the cluster could not be reached. "
        "2: it is invalid or, with --strict, there is a warning.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files to check, or - for stdin")
    parser.add_output()
    parser.add_boolean(
        "--strict", help="exit with 2 on a warning too, such as a rule that yields nothing"
    )
    parser.add_argument(
        "--print-schema",
        action=_PrintSchema,
        nargs=0,
        help="print the JSON Schema of the configuration, for editors, and exit",
    )
    parser.add_file(
        "--kubeconfig",
        help="kubeconfig of the cluster whose resources labels are mapped to "
        "(default: no cluster, only the resources built into Kubernetes)",
    )
    add_context_flags(parser)
    add_prometheus_flags(parser, default_url="")
    return parser


def _parsed(arguments: Sequence[str]) -> _Given:
    flags = parser()
    given = flags.parse_args(arguments)
    return _Given(
        files=tuple(given.files),
        output=given.output,
        strict=given.strict,
        kubeconfig=given.kubeconfig,
        context=context_of(given),
        prometheus=prometheus_settings(flags, given) if given.prometheus_url else None,
    )
