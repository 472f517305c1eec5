"""Who we are to the Prometheus of the flags."""

import os
import ssl

from adapter.commands.flags import PrometheusFlags
from adapter.fetch.credentials import ClusterCredentials, Credentials, FileCredentials
from wire.kube.connection import connect
from wire.serving.tls import ServingConfigError


async def credentials_of(flags: PrometheusFlags, *, user_agent: str) -> Credentials:
    """Who we are to the backend of the flags. As in the peer, a CA file excludes the cluster's identity.

    Raises `ServingConfigError` and `ConnectionConfigError`.
    """
    files = FileCredentials(flags.backend)
    try:
        files.check()
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ServingConfigError(
            f"a --prometheus-*-file cannot be used: {error}. Check its mount and content"
        ) from error
    if flags.backend.ca_file is None and flags.auth_config:
        identity = await connect(flags.auth_config, user_agent=user_agent)
        return ClusterCredentials(identity, files)
    if flags.backend.ca_file is None and flags.auth_in_cluster:
        in_cluster = {k: v for k, v in os.environ.items() if k.startswith("KUBERNETES_")}
        identity = await connect(None, user_agent=user_agent, environ=in_cluster)
        return ClusterCredentials(identity, files)
    return files
