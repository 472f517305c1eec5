"""The flags of the server: prometheus-adapter's by the same names, and a few of Loadline's own.

A Deployment of prometheus-adapter becomes one of Loadline by changing its image, so every flag of v0.12.0 is accepted;
those that no longer have a meaning are named in the log.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adapter.commands.certificate_flags import add_certificate_flags, certificate_options
from adapter.commands.prometheus_flags import (
    add_prometheus_flags,
    ignored_prometheus_flags,
    prometheus_settings,
)
from adapter.fetch.catalog import Times
from adapter.model import Freshness
from adapter.runtime.server_settings import AdapterSettings
from wire.process.command_line.parsing import FILE, FlagParser
from wire.process.logs import LoggingOptions, add_logging_flags
from wire.serving.options import add_flags, from_arguments, ignored_flags

SECURE_PORT: Final = 443
"""prometheus-adapter's default."""

_THROTTLE = "the API server's priority and fairness limits the requests instead"

IGNORED: Final = {
    "client-qps": _THROTTLE,
    "client-burst": _THROTTLE,
    "discovery-interval": "the cluster's resources are watched",
}
"""prometheus-adapter's own flags that have no meaning here, and why; those of its libraries are in `wire.serving.options`."""


def parse(arguments: Sequence[str]) -> AdapterSettings:
    """Read the flags of the server. A wrong one ends the program with exit code 2 and names the fix."""
    parser = server_parser()
    given, words = _flags_and_words(parser, arguments)
    max_age_seconds = given.metrics_max_age or given.metrics_relist_interval
    serving = from_arguments(given)
    return AdapterSettings(
        config=given.config,
        prometheus=prometheus_settings(parser, given),
        lister_kubeconfig=given.lister_kubeconfig,
        times=Times(relist_seconds=given.metrics_relist_interval, max_age_seconds=max_age_seconds),
        freshness=Freshness()
        if given.metrics_freshness is None
        else Freshness.always(given.metrics_freshness),
        wide_queries=given.wide_queries,
        config_poll_seconds=given.config_poll_interval,
        logging=LoggingOptions(format=given.logging_format, verbosity=given.verbosity),
        ignored=(
            *ignored_flags(given, IGNORED),
            *ignored_prometheus_flags(given),
            *serving.ignored,
            *_ignored_words(words),
        ),
        serving=serving,
        managed_certificate=certificate_options(parser, given),
    )


def _flags_and_words(
    parser: FlagParser, arguments: Sequence[str]
) -> tuple[argparse.Namespace, list[str]]:
    """The flags, and the words that belong to none, which prometheus-adapter does not read: all those after `--`, too."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    given, words = parser.parse_known_args(arguments[:end])
    if unknown := next((word for word in words if word.startswith("-") and word != "-"), ""):
        parser.error(f"unknown flag {unknown.partition('=')[0]}")
    return given, [*words, *arguments[end + 1 :]]


def _ignored_words(words: Sequence[str]) -> tuple[str, ...]:
    """Without the words, since one may be the rest of a header with a token."""
    if not words:
        return ()
    are = "1 word is" if len(words) == 1 else f"{len(words)} words are"
    return (
        f"{are} ignored on the command line: a boolean flag is written --flag=false, a value with spaces in quotes",
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
        notes="Durations are written as in Go: 500ms, 15s, 1m30s. Flags of prometheus-adapter that are not listed are "
        "accepted and ignored, with a warning.",
    )
    rules = parser.group("configuration")
    rules.add_argument(
        "--config",
        type=Path,
        required=True,
        metavar=FILE,
        help="configuration file with the rules, in prometheus-adapter's format; reloaded when it changes",
    )
    rules.add_duration(
        "--config-poll-interval",
        default_seconds=2.0,
        help="how often --config is checked for changes; SIGHUP checks it at once",
    )
    add_prometheus_flags(parser)
    tuning = parser.group("tuning")
    tuning.add_duration(
        "--metrics-relist-interval",
        default_seconds=600.0,
        help="how often the series of each rule are listed",
    )
    tuning.add_duration(
        "--metrics-max-age",
        default_seconds=0.0,
        help="a metric is listed while it has samples younger than this (default: the relist interval)",
    )
    tuning.add_duration(
        "--metrics-freshness",
        default_seconds=None,
        help="how long the result of a query is reused for equal requests (default 1s; a result of more than 1,000 rows for "
        "a second per 1,000 rows, at most 3s)",
    )
    tuning.add_boolean(
        "--wide-queries",
        default=True,
        help="answer many requests with one query where that is proven to give the same values; "
        "not with --metrics-freshness=0s",
    )
    parser.group("cluster").add_file(
        "--lister-kubeconfig",
        help="kubeconfig used to list the cluster's resources and objects "
        "(default: $KUBECONFIG, the pod's service account, ~/.kube/config)",
    )
    add_flags(parser, secure_port=SECURE_PORT)
    add_certificate_flags(parser)
    add_logging_flags(
        parser.group("logging"),
        levels="3 logs each request, 6 also each query sent to Prometheus, and authentication and authorization failures",
    )
    for name in IGNORED:
        parser.add_argument(f"--{name}", default=None, help=argparse.SUPPRESS)
    return parser
