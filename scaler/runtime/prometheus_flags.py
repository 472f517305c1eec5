"""The flags of the Prometheus from which new forecasts learn. They are those of the adapter."""

import argparse

from scaler.runtime.adapter_options import NEVER
from wire.process.command_line.parsing import FlagGroup
from wire.prometheus import access_flags
from wire.prometheus.options import PrometheusOptions


def add_prometheus_flags(flags: FlagGroup) -> None:
    """Declare the flags of the Prometheus from which new forecasts learn."""
    flags.add_argument(
        "--prometheus-url",
        default="",
        metavar="URL",
        help="URL of the Prometheus HTTP API: new forecasts learn from the history that it has recorded. "
        "Requires a direct connection to the adapter (default: they learn from what they read from now on)",
    )
    access_flags.add_credential_flags(flags)


def prometheus_options(flags: argparse.Namespace) -> PrometheusOptions | None:
    """The parsed flags; None without --prometheus-url. Raises `ValueError` when they contradict each other."""
    given = access_flags.prometheus_options(flags)
    if not given.url:
        if given != PrometheusOptions(url=""):
            raise ValueError("the --prometheus-* flags require --prometheus-url")
        return None
    if flags.adapter_connection == NEVER:
        raise ValueError(
            "--prometheus-url requires a direct connection to the adapter, which knows the query of each metric: "
            "remove --adapter-connection=never"
        )
    access_flags.check_access(flags)
    return given
