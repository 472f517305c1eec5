"""The address of the API server and the credentials for it, kept up to date."""

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.cluster_access import (
    AccessSource,
    ClusterAccess,
    ConnectionConfigError,
    ServiceAccount,
)
from wire.kube.kubeconfig import Kubeconfig
from wire.kube.kubeconfig_files import is_empty, merged
from wire.process.followed_file import FollowedFile, generations
from wire.process.problem_log import ProblemLog
from wire.process.proxy import proxy_of_environment
from wire.process.trusted_certificates import client_context, trust

# The kubelet replaces a projected token long before it expires; client-go re-reads every minute.
REREAD_SECONDS = 60.0
# After a 401 the token is read again, but not after each of many.
REREAD_AFTER_REFUSAL_SECONDS = 5.0
# For a credential plugin that hangs.
READ_TIMEOUT_SECONDS = 30.0

log = logging.getLogger(__name__)


class Connection:
    """The address, the TLS configuration and the credentials, kept up to date. Made by `connect`."""

    def __init__(
        self,
        source: AccessSource,
        access: ClusterAccess,
        *,
        user_agent: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._access = access
        self._proxy = _proxy(access)
        self._monotonic = monotonic
        self._read_at_seconds = monotonic()
        self._refused_at_seconds = float("-inf")
        self._reading = asyncio.Lock()
        self.user_agent = user_agent
        self.tls = _tls_context(access) if access.server.startswith("https") else None
        """Another object after a change of the client certificate: a server authenticates a connection with the one of its
        handshake, and refuses each request on it when that expires. client-go closes all connections
        (transport/cert_rotation.go). Read it for each request, so that no connection with an old certificate is used again.
        """
        self._ca, self._client = _followed(access.ca_file), _followed(*_client_paths(access))
        self._loaded = generations(*self._ca), generations(*self._client)
        self._problem = ProblemLog(
            log,
            failing=f"the credentials for {self.server} cannot be read; the previous ones stay in use",
            recovered=f"the credentials for {self.server} can be read again",
        )

    @property
    def server(self) -> str:
        """Scheme, host, port and, behind some gateways, a path; no slash at the end."""
        return self._access.server.rstrip("/")

    @property
    def server_hostname(self) -> str | None:
        """The server name for TLS (SNI and verification) where it differs from the address."""
        return self._access.server_hostname

    @property
    def impersonation(self) -> tuple[tuple[str, str], ...]:
        """The headers with the user to act as (`as` in a kubeconfig); none without impersonation."""
        return self._access.impersonation

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the pod; `default` where there is none."""
        return self._access.namespace or "default"

    @property
    def proxy_url(self) -> str | None:
        """The proxy that the kubeconfig names (`proxy-url`), for whatever server its credentials are sent to."""
        return self._access.proxy

    @property
    def proxy(self) -> str | None:
        """From the kubeconfig, else from `HTTPS_PROXY` and `NO_PROXY` as Go's clients read them."""
        return self._proxy

    async def authorization(self, *, refused: bool = False) -> str | None:
        """The Authorization header to send; `refused`: the last one got a 401."""
        if self._is_due(refused):
            async with self._reading:
                if self._is_due(refused):
                    await self._reread(refused)
        return self._access.authorization

    def _is_due(self, refused: bool) -> bool:
        now_seconds = self._monotonic()
        if refused:
            return now_seconds - self._refused_at_seconds >= REREAD_AFTER_REFUSAL_SECONDS
        return now_seconds - self._read_at_seconds >= REREAD_SECONDS

    async def _reread(self, refused: bool) -> None:
        """Read the credentials again; if that fails, the old ones may still be valid."""
        self._read_at_seconds = self._monotonic()
        if refused:
            self._refused_at_seconds = self._read_at_seconds
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                access = await self._source.read(refused=refused)
            proxy = _proxy(access)
            ca, client = self._ca, self._client
            if access.ca_file != self._access.ca_file:
                ca = _followed(access.ca_file)
            if _client_paths(access) != _client_paths(self._access):
                client = _followed(*_client_paths(access))
            found = generations(*ca), generations(*client)
            tls = self.tls
            if tls is not None:
                if client is not self._client or found[1] != self._loaded[1]:
                    tls = _tls_context(access)
                elif ca is not self._ca or found[0] != self._loaded[0]:
                    bundle = _bundle(access)
                    if bundle is not None:
                        trust(tls, bundle)
        except (ConnectionConfigError, OSError, ValueError, TimeoutError) as error:
            self._problem.set(str(error) or "reading them took too long")
        else:
            self._access, self._proxy, self.tls = access, proxy, tls
            self._ca, self._client, self._loaded = ca, client, found
            self._problem.set(None)


async def connect(
    kubeconfig: Path | None = None,
    *,
    context: ChosenContext = CURRENT,
    user_agent: str,
    environ: Mapping[str, str] = os.environ,
) -> Connection:
    """Find the API server: the kubeconfig given, `$KUBECONFIG`, the pod's service account, then
    `~/.kube/config` (the order of controller-runtime). Nothing is sent yet.

    With a chosen context, cluster or user the service account is left out. An empty kubeconfig is none in a pod.
    Raises `ConnectionConfigError`.
    """
    source = access_source(kubeconfig, context, environ)
    try:
        return Connection(source, await source.read(), user_agent=user_agent)
    except (OSError, ssl.SSLError) as error:
        raise ConnectionConfigError(
            f"cannot use the certificates for the API server: {error}"
        ) from error


def access_source(
    kubeconfig: Path | None, context: ChosenContext, environ: Mapping[str, str] = os.environ
) -> AccessSource:
    """Where the credentials are, as `connect` finds them. Raises `ConnectionConfigError`."""
    if kubeconfig is not None:
        return Kubeconfig(str(kubeconfig), context)
    is_chosen = context != CURRENT
    paths = environ.get("KUBECONFIG") or ""
    # A service account has no contexts: another cluster or user must not be used in its place.
    if not paths and (is_chosen or not _is_pod(environ)):
        paths = _home(environ)
    if paths and (is_chosen or not _is_pod(environ) or not _says_nothing(paths)):
        return Kubeconfig(paths, context)
    if is_chosen:
        raise ConnectionConfigError(
            f"{' '.join(context.flags())} chooses from a kubeconfig, and there is none: specify it with --kubeconfig, "
            "or set $KUBECONFIG"
        )
    return ServiceAccount(environ=environ)


def kubectl_kubeconfig(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The kubeconfig that kubectl uses if none is given: also in a pod, unless it is empty (client-go's DeferredLoadingClientConfig).

    Several files are one path, as in `$KUBECONFIG`. None for the credentials of the pod.
    """
    paths = environ.get("KUBECONFIG") or _home(environ)
    if not paths or (_is_pod(environ) and _says_nothing(paths)):
        return None
    return Path(paths)


def _is_pod(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("KUBERNETES_SERVICE_HOST"))


def _home(environ: Mapping[str, str]) -> str:
    """The kubeconfig in the home folder; empty if there is none."""
    path = Path(environ.get("HOME", "/")) / ".kube" / "config"
    return str(path) if path.is_file() else ""


def _says_nothing(paths: str) -> bool:
    """Whether the files exist and are empty. One that cannot be read is not empty: its error is shown when it is used."""
    try:
        return is_empty(merged(paths))
    except (OSError, ValueError):
        return False


def _proxy(access: ClusterAccess) -> str | None:
    try:
        return access.proxy or proxy_of_environment(access.server)
    except ValueError as error:
        raise ConnectionConfigError(str(error)) from error


def _tls_context(access: ClusterAccess) -> ssl.SSLContext:
    tls = client_context(_bundle(access))
    if not access.verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if access.client_certificate_file:
        tls.load_cert_chain(access.client_certificate_file, access.client_key_file)
    return tls


def _bundle(access: ClusterAccess) -> bytes | None:
    """The certificates to verify the server with (PEM); None: the system's."""
    if access.ca_file:
        return Path(access.ca_file).read_bytes()
    return None if access.ca_pem is None else access.ca_pem.encode()


def _client_paths(access: ClusterAccess) -> tuple[str | None, str | None]:
    return access.client_certificate_file, access.client_key_file


def _followed(*paths: str | None) -> tuple[FollowedFile, ...]:
    return tuple(FollowedFile(Path(path)) for path in paths if path)
