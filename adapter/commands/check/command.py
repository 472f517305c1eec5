"""`loadline-adapter check FILE`: offline the faults of the file; with a Prometheus, what each rule yields."""

import ssl
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from adapter.commands.check.report import Problem, Report
from adapter.commands.check.text import text_of
from adapter.commands.check.trying import Trier
from adapter.commands.credentials import credentials_of
from adapter.commands.flags import PrometheusFlags, add_prometheus_flags, prometheus_flags
from adapter.config import ConfigError, Configuration, load
from adapter.fetch.builtin import built_in_mapping
from adapter.fetch.credentials import Address, Credentials, FileCredentials
from adapter.fetch.history import History
from adapter.fetch.kubernetes import ClusterMapping
from adapter.model import DEFAULT_BACKEND, Backend
from wire.command_line.parsing import FlagParser
from wire.kube.client import KubeClient
from wire.kube.connection import ConnectionConfigError, connect
from wire.kube.mapper import RestMapper
from wire.serving.event_loop import run
from wire.serving.tls import ServingConfigError
from wire.status import StatusError, Unavailable

OK: Final = 0
INCOMPLETE: Final = 1
FAULTY: Final = 2


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    file: Path
    output: str
    strict: bool
    kubeconfig: Path | None
    prometheus: PrometheusFlags | None  # None: not asked


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong; 0: it can be used, 1: not all could be asked, 2: it cannot be used."""
    given = _parsed(arguments)
    try:
        report = _report(given)
    except (StatusError, Unavailable) as error:
        print(f"loadline-adapter check: {error.message}", file=sys.stderr)
        return INCOMPLETE
    except (ConnectionConfigError, ServingConfigError, OSError, ValueError) as error:
        print(f"loadline-adapter check: {error}", file=sys.stderr)
        return FAULTY
    if given.output == "json":
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(text_of(report), file=sys.stderr if report.errors else sys.stdout)
    if not report.ok:
        return FAULTY
    return INCOMPLETE if report.unreachable else OK


def _report(given: _Given) -> Report:
    try:
        configuration = load(given.file)
    except ConfigError as error:
        return Report(
            file=str(given.file),
            ok=False,
            errors=tuple(Problem.of(each) for each in error.problems),
            warnings=tuple(Problem.of(each) for each in error.warnings),
        )
    report = Report(
        file=str(given.file),
        ok=True,
        rule_count=len(configuration.rules),
        warnings=tuple(Problem.of(each) for each in configuration.warnings),
    )
    if given.prometheus:
        report = _tried(report, configuration, given.prometheus, given.kubeconfig)
    return msgspec.structs.replace(report, ok=not (given.strict and report.warned))


def _tried(
    report: Report, configuration: Configuration, flags: PrometheusFlags, kubeconfig: Path | None
) -> Report:
    mapping = run(_cluster_mapping(kubeconfig)) if kubeconfig else built_in_mapping()
    histories = run(_histories(configuration, flags))
    trier = Trier(histories, mapping)
    try:
        rules = trier.reports(configuration)
        return msgspec.structs.replace(
            report,
            prometheus=Address.of(flags.backend.url).base,
            resources="cluster" if kubeconfig else "built-in",
            rules=rules,
            overlaps=trier.overlaps(configuration),
        )
    finally:
        for history in histories.values():
            history.close()


async def _histories(configuration: Configuration, flags: PrometheusFlags) -> dict[str, History]:
    """A client for each backend of the file; that of the flags where the file names none."""
    found = {
        DEFAULT_BACKEND: await _history(
            flags.backend, await credentials_of(flags, user_agent=_user_agent())
        )
    }
    for backend in configuration.backends:
        found[backend.name] = await _history(backend, FileCredentials(backend))
    return found


async def _history(backend: Backend, credentials: Credentials) -> History:
    try:
        return History(backend, headers=await credentials.headers(), tls=credentials.tls())
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ServingConfigError(
            f"backend {backend.name}: a file of it cannot be used here: {error}"
        ) from error


async def _cluster_mapping(kubeconfig: Path) -> ClusterMapping:
    client = KubeClient(await connect(kubeconfig, user_agent=_user_agent()))
    try:
        mapper = RestMapper(client)
        await mapper.refresh()
        return ClusterMapping(mapper)
    finally:
        await client.close()


def parser() -> FlagParser:
    """The flags of `check`."""
    parser = FlagParser(
        prog="loadline-adapter check",
        description="Find the faults of a configuration file. With --prometheus-url, also show what each rule "
        "finds in Prometheus, or why it finds nothing.",
        examples=[
            (
                "Check a file without a Prometheus, in CI",
                "loadline-adapter check --strict config.yaml",
            ),
            (
                "Check it against a Prometheus",
                "loadline-adapter check config.yaml --prometheus-url=http://localhost:9090",
            ),
        ],
        notes="Exit code 0: the file can be used. 1: it can be used, but Prometheus or the cluster could not be reached. "
        "2: it cannot be used or, with --strict, there is a warning.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file given to --config")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    parser.add_boolean(
        "--strict", help="a warning, such as a rule that yields nothing, ends with 2"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="map labels to the resources of this cluster (default: Kubernetes' own resources)",
    )
    add_prometheus_flags(parser)
    parser.set_defaults(prometheus_url="")
    return parser


def _parsed(arguments: Sequence[str]) -> _Given:
    flags = parser()
    given = flags.parse_args(arguments)
    return _Given(
        file=given.file,
        output=given.output,
        strict=given.strict,
        kubeconfig=given.kubeconfig,
        prometheus=prometheus_flags(flags, given) if given.prometheus_url else None,
    )


def _user_agent() -> str:
    return f"loadline-adapter-check/{version('loadline-autoscaler')}"
