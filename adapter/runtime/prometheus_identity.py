"""How the adapter authenticates to the Prometheus of the flags."""

import os
import ssl

from adapter.fetch.credentials import ClusterCredentials
from adapter.runtime.server_settings import PrometheusSettings
from wire.kube.connection import connect
from wire.prometheus.access import Credentials, FileCredentials
from wire.serving.options import ServingConfigError


async def prometheus_credentials(settings: PrometheusSettings, *, user_agent: str) -> Credentials:
    """The credentials of the default backend. As in prometheus-adapter, a CA file excludes the cluster's identity.

    Raises `ServingConfigError` and `ConnectionConfigError`.
    """
    files = FileCredentials(settings.backend)
    try:
        files.check()
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ServingConfigError(
            f"a --prometheus-*-file cannot be used: {error}. Check its mount and content"
        ) from error
    if settings.backend.ca_file is None and settings.auth_config:
        identity = await connect(settings.auth_config, user_agent=user_agent)
        return ClusterCredentials(identity, files)
    if settings.backend.ca_file is None and settings.auth_in_cluster:
        in_cluster = {k: v for k, v in os.environ.items() if k.startswith("KUBERNETES_")}
        identity = await connect(None, user_agent=user_agent, environ=in_cluster)
        return ClusterCredentials(identity, files)
    return files
