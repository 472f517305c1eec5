"""The flags of one Prometheus."""

from pathlib import Path

import msgspec


class PrometheusOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where a Prometheus is, and how to authenticate. The URL and the headers may contain secrets.

    Files are named and not read, since they may be replaced.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    token_file: Path | None = None
    username: str = ""
    password_file: Path | None = None
    ca_file: Path | None = None
    client_cert_file: Path | None = None
    client_key_file: Path | None = None
