"""The `--prometheus-*` flags, which every command that queries Prometheus takes. They are prometheus-adapter's."""

import argparse

import msgspec

from adapter.model import Backend
from adapter.runtime.server_settings import PrometheusSettings
from wire.process.command_line.parsing import FlagParser
from wire.prometheus.access_flags import (
    add_credential_flags,
    check_access,
    checked_header,
    prometheus_options,
)
from wire.prometheus.headers import SET_BY_THE_CLIENT


def add_prometheus_flags(parser: FlagParser, *, default_url: str = "https://localhost") -> None:
    """Declare the flags."""
    group = parser.group("Prometheus")
    add = group.add_argument
    add(
        "--prometheus-url",
        default=default_url,
        metavar="URL",
        help="URL of the Prometheus HTTP API, with its path prefix and parameters if it needs any",
    )
    add(
        "--prometheus-verb",
        choices=("GET", "POST"),
        default="GET",
        metavar="VERB",
        help="HTTP method of queries, GET or POST; POST allows queries that are too long for a URL",
    )
    add_credential_flags(group, header_type=_header)
    group.add_file("--prometheus-auth-config", help="kubeconfig used to authenticate to Prometheus")
    group.add_boolean(
        "--prometheus-auth-incluster",
        help="authenticate to Prometheus with the pod's service account",
    )
    group.add_duration(
        "--prometheus-timeout",
        default_seconds=30.0,
        help="timeout of one query; a list of series may take four times as long, and 2 minutes at least",
    )
    add(
        "--prometheus-concurrency",
        type=_count,
        default=20,
        metavar="N",
        help="maximum number of queries in flight",
    )


def prometheus_settings(parser: FlagParser, given: argparse.Namespace) -> PrometheusSettings:
    """What `add_prometheus_flags` has read; a wrong flag ends the program."""
    identities = given.prometheus_auth_incluster and given.prometheus_auth_config
    if identities and not given.prometheus_ca_file:
        parser.error(
            "--prometheus-auth-incluster and --prometheus-auth-config are mutually exclusive"
        )
    return PrometheusSettings(
        backend=_backend(parser, given),
        auth_in_cluster=given.prometheus_auth_incluster,
        auth_config=given.prometheus_auth_config,
    )


def ignored_prometheus_flags(given: argparse.Namespace) -> tuple[str, ...]:
    """One sentence for each given flag that has no effect."""
    with_ca_file = (
        "Prometheus is reached with --prometheus-ca-file, and without the identity of the cluster"
    )
    return (
        *(
            f"--prometheus-header={name} is ignored: the client sets it for each request, Host from --prometheus-url"
            for name, _ in given.prometheus_header
            if name.lower() in SET_BY_THE_CLIENT
        ),
        *(
            f"{flag} is ignored: {with_ca_file}"
            for flag, is_given in (
                ("--prometheus-auth-incluster", given.prometheus_auth_incluster),
                ("--prometheus-auth-config", given.prometheus_auth_config),
            )
            if is_given and given.prometheus_ca_file
        ),
    )


def _backend(parser: FlagParser, given: argparse.Namespace) -> Backend:
    try:
        check_access(given)
    except ValueError as error:
        parser.error(str(error))
    return Backend(
        **msgspec.structs.asdict(prometheus_options(given)),
        verb=given.prometheus_verb,
        timeout_seconds=given.prometheus_timeout,
        discovery_timeout_seconds=Backend.discovery_seconds(given.prometheus_timeout),
        concurrency_max=given.prometheus_concurrency,
    )


def _header(text: str) -> tuple[str, str]:
    """A header without `=` has no value, as in prometheus-adapter."""
    name, _, value = text.partition("=")
    return checked_header(name, value)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
