"""What is known about a server and the credentials for it, and where a pod finds both."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConnectionConfigError(Exception):
    """The configuration does not say how to reach the API server; the message names the file and the problem."""


def empty_token(file: Path) -> str:
    """Without a token, requests would be those of an anonymous client. Upstream: `fileTokenSource` of client-go."""
    return f"{file} is empty: it must have a token"


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """What a kubeconfig or a service account says at one moment."""

    server: str
    authorization: str | None = None
    ca_file: str | None = None
    ca_pem: str | None = None
    client_certificate_file: str | None = None
    client_key_file: str | None = None
    verify: bool = True
    server_hostname: str | None = None
    proxy: str | None = None
    impersonation: tuple[tuple[str, str], ...] = ()  # headers
    namespace: str = ""  # of the context, or of the pod


class AccessSource(Protocol):
    """A kubeconfig or a service account. It is read again, since tokens and certificates are replaced."""

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        """`refused`: the server answered what was read last with 401, so it is not taken from a cache."""
        ...


class ServiceAccount:
    """The service account that Kubernetes mounts into a pod."""

    def __init__(
        self, folder: Path = SERVICE_ACCOUNT_FOLDER, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._folder = folder
        self._environ = environ

    async def read(self, *, refused: bool = False) -> ClusterAccess:  # noqa: ARG002 - its files are always read
        host = self._environ.get("KUBERNETES_SERVICE_HOST", "")
        port = self._environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            raise ConnectionConfigError(
                "there is no kubeconfig and this is not a pod (KUBERNETES_SERVICE_HOST is not set): "
                "specify a kubeconfig with a flag (see --help), or set $KUBECONFIG"
            )
        if ":" in host:
            host = f"[{host}]"
        token_file = self._folder / "token"
        try:
            token = token_file.read_text().strip()
        except OSError as error:
            raise ConnectionConfigError(
                f"cannot read {token_file}: {error.strerror}. Is automountServiceAccountToken off?"
            ) from error
        if not token:
            raise ConnectionConfigError(empty_token(token_file))
        namespace = self._folder / "namespace"
        return ClusterAccess(
            server=f"https://{host}:{port}",
            authorization=f"Bearer {token}",
            ca_file=str(self._folder / "ca.crt"),
            namespace=namespace.read_text().strip() if namespace.is_file() else "",
        )
