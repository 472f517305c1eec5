"""How the adapter authenticates to a Prometheus with the identity that it has in its cluster."""

import ssl
from collections.abc import Mapping

from wire.kube.connection import Connection
from wire.prometheus.access import FileCredentials, Route


class ClusterCredentials:
    """The credentials of a kubeconfig or of the pod's service account, sent to Prometheus.

    For `--prometheus-auth-incluster` and `--prometheus-auth-config`: Prometheus behind a proxy that authenticates with
    the cluster (kube-rbac-proxy, OpenShift's thanos-querier).
    """

    def __init__(self, connection: Connection, files: FileCredentials) -> None:
        """`files`: a token file or a password has priority over the cluster's identity."""
        self._connection = connection
        self._files = files

    async def headers(self) -> Mapping[str, str]:
        """The newest token, if there is one."""
        authorization = await self._connection.authorization()
        cluster = {"Authorization": authorization} if authorization else {}
        return {**cluster, **await self._files.headers()}

    async def renew(self) -> None:
        """Read the kubeconfig again, or run its credential plugin."""
        await self._connection.authorization(refused=True)

    def tls(self) -> ssl.SSLContext | bool:
        """The cluster's CA, and the client certificate if there is one."""
        return self._connection.tls or True

    @property
    def has_client_certificate(self) -> bool:
        """It may be in the context of the cluster's connection."""
        return self._connection.tls is not None

    def route(self) -> Route:
        """With `proxy-url` and `tls-server-name` of the kubeconfig, as client-go's rest.TransportFor."""
        return Route(
            proxy=self._connection.proxy_url or self._files.route().proxy,
            server_hostname=self._connection.server_hostname,
        )
