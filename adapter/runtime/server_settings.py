"""What the command line sets, as values."""

from pathlib import Path

import msgspec

from adapter.certificates.managed_certificate import ManagedCertificateOptions
from adapter.fetch.catalog import Times
from adapter.model import Backend, Freshness
from wire.process.logs import LoggingOptions
from wire.serving.options import ServingOptions


class PrometheusSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `--prometheus-*` flags: the default backend, and how to authenticate to it."""

    backend: Backend
    auth_in_cluster: bool
    auth_config: Path | None


class AdapterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of the server."""

    config: Path
    prometheus: PrometheusSettings
    lister_kubeconfig: Path | None
    times: Times
    freshness: Freshness
    wide_queries: bool
    config_poll_seconds: float
    logging: LoggingOptions
    ignored: tuple[str, ...]
    """What to log about flags that have no effect."""
    serving: ServingOptions
    managed_certificate: ManagedCertificateOptions | None = None
