"""The flags with which every program authenticates to Prometheus. They are prometheus-adapter's."""

import argparse
from collections.abc import Callable

from wire.process.command_line.parsing import FlagSet
from wire.prometheus.access import PrometheusURL
from wire.prometheus.headers import SET_BY_THE_CLIENT, check_header
from wire.prometheus.options import PrometheusOptions

_REREAD = "re-read when it changes"
_FILES = {
    "token-file": f"file with a bearer token; {_REREAD}",
    "password-file": f"file with the password for basic authentication; {_REREAD}",
    "ca-file": f"file with the CA certificates to verify Prometheus' certificate with; {_REREAD}",
    "client-tls-cert-file": f"file with a client certificate; {_REREAD}",
    "client-tls-key-file": f"file with the key of the client certificate; {_REREAD}",
}


def header(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        # The text may be a secret.
        raise argparse.ArgumentTypeError("a header is not of the form NAME=VALUE")
    if name.lower() in SET_BY_THE_CLIENT:
        raise argparse.ArgumentTypeError(
            f"{name} is set by the client for each request, Host from the URL of Prometheus: remove the header"
        )
    return checked_header(name, value)


def checked_header(name: str, value: str) -> tuple[str, str]:
    """A header that can be sent."""
    try:
        check_header(name, value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name, value


def add_credential_flags(
    flags: FlagSet, *, header_type: Callable[[str], tuple[str, str]] = header
) -> None:
    """Declare the flags."""
    flags.add_argument(
        "--prometheus-header",
        type=header_type,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="header to send with every request to Prometheus; may be repeated",
    )
    for name, meaning in _FILES.items():
        flags.add_file(f"--prometheus-{name}", help=meaning)
    flags.add_argument(
        "--prometheus-username",
        default="",
        metavar="NAME",
        help="user name for basic authentication",
    )


def prometheus_options(given: argparse.Namespace) -> PrometheusOptions:
    """The parsed flags, as they are."""
    return PrometheusOptions(
        url=given.prometheus_url,
        headers=tuple(given.prometheus_header),
        token_file=given.prometheus_token_file,
        username=given.prometheus_username,
        password_file=given.prometheus_password_file,
        ca_file=given.prometheus_ca_file,
        client_cert_file=given.prometheus_client_tls_cert_file,
        client_key_file=given.prometheus_client_tls_key_file,
    )


def check_access(given: argparse.Namespace) -> None:
    """The URL is valid, and a client certificate has its key. Raises `ValueError`, which names the flag."""
    if (given.prometheus_client_tls_cert_file is None) != (
        given.prometheus_client_tls_key_file is None
    ):
        raise ValueError(
            "--prometheus-client-tls-cert-file and --prometheus-client-tls-key-file must be given together"
        )
    try:
        PrometheusURL.of(given.prometheus_url)
    except ValueError as error:
        raise ValueError(f"--prometheus-url: {error}") from error
