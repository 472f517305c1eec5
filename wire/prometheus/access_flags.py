"""The flags with which every program authenticates to Prometheus. They are prometheus-adapter's."""

import argparse

from wire.process.command_line.parsing import FlagSet
from wire.prometheus.access import PrometheusURL

_REREAD = "re-read when it changes"
_FILES = {
    "token-file": f"file with a bearer token; {_REREAD}",
    "password-file": f"file with the password for basic authentication; {_REREAD}",
    "ca-file": f"file with the CA certificates to verify Prometheus' certificate with; {_REREAD}",
    "client-tls-cert-file": f"file with a client certificate; {_REREAD}",
    "client-tls-key-file": f"file with the key of the client certificate; {_REREAD}",
}


def add_credential_flags(flags: FlagSet) -> None:
    """Declare the flags."""
    for name, meaning in _FILES.items():
        flags.add_file(f"--prometheus-{name}", help=meaning)
    flags.add_argument(
        "--prometheus-username",
        default="",
        metavar="NAME",
        help="user name for basic authentication",
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
