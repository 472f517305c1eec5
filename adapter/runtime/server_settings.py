"""What the command line sets, as values."""

from pathlib import Path

import msgspec

from adapter.certificates.managed_certificate import ManagedCertificateOptions
from adapter.config import Configuration
from adapter.fetch.catalog import Times
from adapter.model import Backend, Freshness
from wire.process.logs import LoggingOptions
from wire.serving.options import ServingConfigError, ServingOptions


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

    def check_with(self, configuration: Configuration) -> None:
        """Raises `ServingConfigError` for flags that this configuration does not allow, as `makeProvider` of prometheus-adapter."""
        if configuration.serves_custom and self.times.max_age_seconds < self.times.relist_seconds:
            raise ServingConfigError(
                "with `rules` in the configuration, --metrics-max-age must not be less than --metrics-relist-interval, "
                "or metrics would appear and disappear"
            )
