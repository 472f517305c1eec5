"""`loadline-adapter check FILE`: offline the faults of the file; with a Prometheus, what each rule yields."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from adapter.commands.check_text import text_of
from adapter.commands.prometheus_flags import add_prometheus_flags, prometheus_settings
from adapter.config import ConfigError
from adapter.runtime.checking import checked
from adapter.runtime.server_settings import PrometheusSettings
from wire.command_line.parsing import FlagParser
from wire.kube.connection import ConnectionConfigError
from wire.serving.event_loop import run
from wire.serving.options import ServingConfigError
from wire.status import StatusError, Unavailable

OK: Final = 0
INCOMPLETE: Final = 1
FAULTY: Final = 2


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    file: Path
    output: str
    strict: bool
    kubeconfig: Path | None
    prometheus: PrometheusSettings | None  # None: offline


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong. 0: usable; 1: usable, but not everything could be checked; 2: not usable."""
    given = _parsed(arguments)
    try:
        report = run(
            checked(
                given.file,
                prometheus=given.prometheus,
                kubeconfig=given.kubeconfig,
                strict=given.strict,
                user_agent=f"loadline-adapter-check/{version('loadline-autoscaler')}",
            )
        )
    except (StatusError, Unavailable) as error:
        print(f"loadline-adapter check: {error.message}", file=sys.stderr)
        return INCOMPLETE
    except (ConfigError, ConnectionConfigError, ServingConfigError, OSError, ValueError) as error:
        print(f"loadline-adapter check: {error}", file=sys.stderr)
        return FAULTY
    if given.output == "json":
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(text_of(report), file=sys.stderr if report.errors else sys.stdout)
    if not report.ok:
        return FAULTY
    return INCOMPLETE if report.unreachable else OK


def parser() -> FlagParser:
    """The flags of `check`."""
    parser = FlagParser(
        prog="loadline-adapter check",
        usage="%(prog)s [flags] FILE",
        description="Validate a configuration file. With --prometheus-url, also report what each rule "
        "yields, or why it yields nothing.",
        examples=[
            (
                "Check a file without a Prometheus, in CI",
                "loadline-adapter check --strict config.yaml",
            ),
            (
                "Try each rule on a Prometheus",
                "loadline-adapter check config.yaml --prometheus-url=http://localhost:9090",
            ),
        ],
        notes="Exit code 0: the file is valid. 1: it is valid, but Prometheus or the cluster could not be reached. "
        "2: it is invalid or, with --strict, there is a warning.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file given to --config")
    parser.add_argument(
        "--output",
        choices=("text", "json"),
        default="text",
        metavar="FORMAT",
        help="output format, text or json",
    )
    parser.add_boolean(
        "--strict", help="exit with 2 on a warning too, such as a rule that yields nothing"
    )
    parser.add_file(
        "--kubeconfig",
        help="kubeconfig of the cluster whose resources labels are mapped to "
        "(default: no cluster, only the resources built into Kubernetes)",
    )
    add_prometheus_flags(parser, default_url="")
    return parser


def _parsed(arguments: Sequence[str]) -> _Given:
    flags = parser()
    given = flags.parse_args(arguments)
    return _Given(
        file=given.file,
        output=given.output,
        strict=given.strict,
        kubeconfig=given.kubeconfig,
        prometheus=prometheus_settings(flags, given) if given.prometheus_url else None,
    )
