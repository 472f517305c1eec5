"""The credentials for the cluster, sent to another server than the API server: to the adapter, or to the scaler.

They are sent only after the certificate of the server is verified, since a server that receives a token can act as its user.
"""

import os
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.cluster_access import (
    AccessSource,
    ClusterAccess,
    ConnectionConfigError,
    ServiceAccount,
)
from wire.kube.connection import Connection, access_source

LOOPBACK = ("127.0.0.1", "::1", "localhost")


async def connect_to(
    server: str,
    *,
    ca_file: Path | None = None,
    ca_pem: str | None = None,
    server_hostname: str | None = None,
    insecure_skip_tls_verify: bool = False,
    kubeconfig: Path | None = None,
    context: ChosenContext = CURRENT,
    source: AccessSource | None = None,
    user_agent: str,
) -> Connection:
    """The credentials for the cluster (found as by `connect`, or `source`), sent to another server than the API server.

    The server's certificate is verified with `ca_file` or `ca_pem`, so that a token is not sent to another program: for
    `server_hostname`, if that is not the host of `server`. Only a pod may do without, for a server on its own loopback.
    Raises `ConnectionConfigError`.
    """
    source = source or access_source(kubeconfig, context, os.environ)
    own_loopback = isinstance(source, ServiceAccount) and urlsplit(server).hostname in LOOPBACK
    verifies = ca_file is not None or ca_pem is not None
    if not verifies and not insecure_skip_tls_verify and not own_loopback:
        raise ConnectionConfigError(
            f"the certificate of {server} cannot be verified, so your credentials could be sent to an impostor: "
            "specify its CA with --ca-file, or skip verification with --insecure-skip-tls-verify"
        )
    replaced = ClusterAccess(
        server=server,
        ca_file=str(ca_file) if ca_file else None,
        ca_pem=ca_pem,
        verify=verifies,
        server_hostname=server_hostname,
    )
    elsewhere = _ForServer(source, replaced)
    try:
        access = await elsewhere.read()
        if access.impersonation:
            raise ConnectionConfigError(
                f"the kubeconfig has `as: {access.impersonation[0][1]}`, but only the API server impersonates users: "
                f"use a kubeconfig without it for {server}"
            )
        return Connection(elsewhere, access, user_agent=user_agent)
    except (OSError, ssl.SSLError) as error:
        raise ConnectionConfigError(f"cannot use the certificates for {server}: {error}") from error


class _ForServer:
    """Credentials, and the server that they are used with."""

    def __init__(self, identity: AccessSource, server: ClusterAccess) -> None:
        self._identity = identity
        self._server = server

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        identity = await self._identity.read(refused=refused)
        return msgspec.structs.replace(
            self._server,
            authorization=identity.authorization,
            client_certificate_file=identity.client_certificate_file,
            client_key_file=identity.client_key_file,
            impersonation=identity.impersonation,
        )
