"""How the adapter authenticates to a Prometheus, and how it verifies that Prometheus.

`wire.prometheus.access` has the credentials from files.
"""

import ssl
from collections.abc import Mapping
from typing import Protocol

from wire.kube.connection import Connection
from wire.prometheus.access import FileCredentials


class Credentials(Protocol):
    """Read again for every request. Both raise `OSError` or `ValueError` when a file cannot be used."""

    async def headers(self) -> Mapping[str, str]:
        """The headers that authenticate the adapter."""
        ...

    def tls(self) -> ssl.SSLContext | bool:
        """The context of the next connection; True for the system's CA certificates."""
        ...


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

    def tls(self) -> ssl.SSLContext | bool:
        """The cluster's CA, and the client certificate if there is one."""
        return self._connection.tls or True
