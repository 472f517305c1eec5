"""The flags of `loadline-adapter`: prometheus-adapter's by the same names, and a few of ours.

A Deployment of the peer becomes ours by changing its image, so every flag that v0.12.0 knows is accepted; those that
have lost their meaning are named in the log.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from adapter.fetch.cache import FRESHNESS_SECONDS
from adapter.fetch.catalog import Times
from adapter.fetch.credentials import Address
from adapter.model import Backend
from wire.command_line.parsing import FlagParser, duration_seconds
from wire.logs import LoggingOptions, add_logging_flags
from wire.serving.options import ServingOptions, add_flags, from_arguments, ignored_flags

SECURE_PORT: Final = 443
"""The peer's default."""

_THROTTLE = "the API server's own priority and fairness is obeyed instead"

IGNORED: Final = {
    "client-qps": _THROTTLE,
    "client-burst": _THROTTLE,
    "discovery-interval": "the cluster's resources are read anew all the time",
}
"""Flags of the peer itself that have no meaning here, and why; those of its libraries are in `wire.serving.options`."""


class PrometheusFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The `--prometheus-*` flags: the backend of the rules that name none, and whose identity it is shown."""

    backend: Backend
    auth_in_cluster: bool
    auth_config: Path | None


class AdapterFlags(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line of the server says."""

    config: Path
    prometheus: PrometheusFlags
    lister_kubeconfig: Path | None
    times: Times
    freshness_seconds: float
    config_poll_seconds: float
    logging: LoggingOptions
    ignored: tuple[str, ...]
    serving: ServingOptions


def parse(arguments: Sequence[str]) -> AdapterFlags:
    """Read the flags of the server. A wrong one ends the program with exit code 2 and names the fix."""
    parser = server_parser()
    given = parser.parse_args(arguments)
    max_age_seconds = given.metrics_max_age or given.metrics_relist_interval
    if max_age_seconds < given.metrics_relist_interval:
        parser.error(
            "--metrics-max-age must not be less than --metrics-relist-interval, "
            "or metrics would come and go"
        )
    serving = from_arguments(given)
    return AdapterFlags(
        ignored=(*ignored_flags(given, IGNORED), *serving.ignored),
        config=given.config,
        prometheus=prometheus_flags(parser, given),
        lister_kubeconfig=given.lister_kubeconfig,
        times=Times(relist_seconds=given.metrics_relist_interval, max_age_seconds=max_age_seconds),
        freshness_seconds=given.metrics_freshness,
        config_poll_seconds=given.config_poll_interval,
        logging=LoggingOptions(format=given.logging_format, verbosity=given.verbosity),
        serving=serving,
    )


def server_parser() -> FlagParser:
    """The flags of the server."""
    parser = FlagParser(
        prog="loadline-adapter",
        description="Serve the Kubernetes metrics APIs (custom, external, resource) from Prometheus.",
        examples=[
            (
                "Serve the metrics of these rules from a Prometheus in the cluster",
                "loadline-adapter --config=/etc/adapter/config.yaml --prometheus-url=http://prometheus.monitoring:9090",
            ),
            (
                "Try rules from a laptop, with a self-signed certificate on another port",
                "loadline-adapter --config=rules.yaml --prometheus-url=http://localhost:9090 --secure-port=6443",
            ),
        ],
        notes="Durations are Go's: 500ms, 15s, 1m30s. Flags of prometheus-adapter that are not listed are "
        "accepted and ignored, with a warning.",
    )
    _add_rules(parser)
    add_prometheus_flags(parser)
    parser.add_argument(
        "--lister-kubeconfig",
        type=_file,
        metavar="FILE",
        help="how to reach the API server (default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    add_flags(parser, secure_port=SECURE_PORT)
    add_logging_flags(
        parser.group("logging"),
        levels="3 logs each request, 6 also each query sent to Prometheus and why authentication or authorization failed",
    )
    for name in IGNORED:
        parser.add_argument(f"--{name}", default=None, help=argparse.SUPPRESS)
    return parser


_FRESH = "read again when it changes"
_PROMETHEUS_FILES = {
    "token-file": f"bearer token; {_FRESH}",
    "password-file": f"for basic authentication; {_FRESH}",
    "ca-file": f"whom to trust; {_FRESH}",
    "client-tls-cert-file": f"client certificate; {_FRESH}",
    "client-tls-key-file": f"its key; {_FRESH}",
    "auth-config": "a kubeconfig whose identity Prometheus is shown",
}


def add_prometheus_flags(parser: FlagParser) -> None:
    """How to reach Prometheus; every command that asks it takes these."""
    add = parser.add_argument
    add(
        "--prometheus-url",
        default="https://localhost",
        metavar="URL",
        help="Prometheus, or what speaks its HTTP API; a path and parameters are kept",
    )
    add(
        "--prometheus-verb",
        choices=("GET", "POST"),
        default="GET",
        help="POST for queries that are too long for a URL",
    )
    add(
        "--prometheus-header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="sent with every request; may be repeated",
    )
    for name, meaning in _PROMETHEUS_FILES.items():
        add(f"--prometheus-{name}", type=_file, metavar="FILE", help=meaning)
    add("--prometheus-username", default="", metavar="NAME", help="for basic authentication")
    parser.add_boolean(
        "--prometheus-auth-incluster", help="show Prometheus the pod's service account"
    )
    _add_duration(parser, "--prometheus-timeout", 30.0, "for one query (default 30s)")
    add(
        "--prometheus-concurrency",
        type=_count,
        default=20,
        metavar="N",
        help="queries in flight at most (default 20)",
    )


def prometheus_flags(parser: FlagParser, given: argparse.Namespace) -> PrometheusFlags:
    """What `add_prometheus_flags` has read; a wrong flag ends the program."""
    if given.prometheus_auth_incluster and given.prometheus_auth_config:
        parser.error("--prometheus-auth-incluster and --prometheus-auth-config exclude each other")
    return PrometheusFlags(
        backend=_backend(parser, given),
        auth_in_cluster=given.prometheus_auth_incluster,
        auth_config=given.prometheus_auth_config,
    )


def _backend(parser: FlagParser, given: argparse.Namespace) -> Backend:
    try:
        Address.of(given.prometheus_url)
    except ValueError as error:
        parser.error(f"--prometheus-url: {error}")
    if (given.prometheus_client_tls_cert_file is None) != (
        given.prometheus_client_tls_key_file is None
    ):
        parser.error(
            "--prometheus-client-tls-cert-file and --prometheus-client-tls-key-file go together"
        )
    pairs = (header.partition("=") for header in given.prometheus_header)
    return Backend(
        url=given.prometheus_url,
        verb=given.prometheus_verb,
        headers=tuple((name, value) for name, _, value in pairs),
        token_file=given.prometheus_token_file,
        username=given.prometheus_username,
        password_file=given.prometheus_password_file,
        ca_file=given.prometheus_ca_file,
        client_cert_file=given.prometheus_client_tls_cert_file,
        client_key_file=given.prometheus_client_tls_key_file,
        timeout_seconds=given.prometheus_timeout,
        concurrency_max=given.prometheus_concurrency,
    )


def _add_rules(parser: FlagParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        required=True,
        metavar="FILE",
        help="the rules, as prometheus-adapter reads them; watched for changes",
    )
    for name, default_seconds, meaning in (
        ("metrics-relist-interval", 600.0, "how often the series of each rule are listed (default 10m)"),
        ("metrics-max-age", 0.0, "how old a series may be to be listed (default: the relist interval)"),
        ("metrics-freshness", FRESHNESS_SECONDS, "how long an answer serves the same question again (default 1s)"),
        ("config-poll-interval", 2.0, "how often --config is looked at (default 2s); SIGHUP looks at once"),
    ):  # fmt: skip
        _add_duration(parser, f"--{name}", default_seconds, meaning)


def _add_duration(parser: FlagParser, flag: str, default_seconds: float, meaning: str) -> None:
    parser.add_argument(
        flag, type=duration_seconds, default=default_seconds, metavar="DURATION", help=meaning
    )


def _file(text: str) -> Path | None:
    """An empty value is the flag not given, as Go's programs have it."""
    return Path(text) if text else None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
