"""The flags of the Prometheus from which new forecasts learn. They are those of the adapter."""

import argparse

from wire.process.command_line.parsing import FlagGroup
from wire.prometheus.access_flags import add_credential_flags, check_access
from wire.prometheus.options import PrometheusOptions


def header(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        # The text may be a secret.
        raise argparse.ArgumentTypeError("a header is not of the form NAME=VALUE")
    return name, value


def add_prometheus_flags(flags: FlagGroup) -> None:
    """Declare the flags."""
    flags.add_argument(
        "--prometheus-url",
        default="",
        metavar="URL",
        help="URL of the Prometheus HTTP API: new forecasts learn from the history that it has recorded. "
        "Requires --adapter-service (default: they learn from what they read from now on)",
    )
    flags.add_argument(
        "--prometheus-header",
        type=header,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="header to send with every request to Prometheus; may be repeated",
    )
    add_credential_flags(flags)


def prometheus_options(flags: argparse.Namespace) -> PrometheusOptions | None:
    """The parsed flags; None without --prometheus-url. Raises `ValueError` when they contradict each other."""
    given = PrometheusOptions(
        url=flags.prometheus_url,
        headers=tuple(flags.prometheus_header),
        token_file=flags.prometheus_token_file,
        username=flags.prometheus_username,
        password_file=flags.prometheus_password_file,
        ca_file=flags.prometheus_ca_file,
        client_cert_file=flags.prometheus_client_tls_cert_file,
        client_key_file=flags.prometheus_client_tls_key_file,
    )
    if not given.url:
        if given != PrometheusOptions(url=""):
            raise ValueError("the --prometheus-* flags require --prometheus-url")
        return None
    if flags.adapter_service is None:
        raise ValueError(
            "--prometheus-url requires --adapter-service: the adapter knows the query of each metric"
        )
    check_access(flags)
    return given
