"""The address of the API server and the credentials for it.

The only module that imports kubernetes-asyncio, and only its kubeconfig loader. The import takes half a
second and 60 MiB (it includes every typed model), so it is done when a kubeconfig is read and
not otherwise: in a pod a service account is three files, which need no library.

| kubeconfig | kubectl | here |
|---|---|---|
| several files in `$KUBECONFIG` | merged | merged |
| `tokenFile`, exec plugin | re-read, re-run when expired | re-read, re-run when expired |
| `client-certificate`, `certificate-authority` replaced on disk | for new connections | the same |
| `as`, `as-groups` (impersonation) | sent | sent to the API server; refused for any other server |
"""

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from wire.kube.chosen_context import BY_FLAGS, CURRENT, ChosenContext, chosen_context, entry
from wire.kube.proxy import proxy_of_environment
from wire.process.followed_file import FollowedFile, generations
from wire.process.problem_log import ProblemLog

SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# The kubelet replaces a projected token long before it expires; client-go re-reads every minute.
REREAD_SECONDS = 60.0
# After a 401 the token is read again, but not after each of many.
REREAD_AFTER_REFUSAL_SECONDS = 5.0
# For a credential plugin that hangs.
READ_TIMEOUT_SECONDS = 30.0

log = logging.getLogger(__name__)


class ConnectionConfigError(Exception):
    """The configuration does not say how to reach the API server; the message names the file and the problem."""


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

    async def read(self) -> ClusterAccess: ...


class ServiceAccount:
    """The service account that Kubernetes mounts into a pod."""

    def __init__(
        self, folder: Path = SERVICE_ACCOUNT_FOLDER, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._folder = folder
        self._environ = environ

    async def read(self) -> ClusterAccess:
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
        namespace = self._folder / "namespace"
        return ClusterAccess(
            server=f"https://{host}:{port}",
            authorization=f"Bearer {token}" if token else None,
            ca_file=str(self._folder / "ca.crt"),
            namespace=namespace.read_text().strip() if namespace.is_file() else "",
        )


class Kubeconfig:
    """One or more kubeconfig files and the context chosen in them."""

    def __init__(self, paths: str, context: ChosenContext) -> None:
        """`paths` as in `$KUBECONFIG`: separated by colons. A missing file is skipped."""
        # Local, because the import is expensive (see the top of the file).
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config.kube_config import (
            ConfigNode,
            KubeConfigLoader,
            KubeConfigMerger,
        )

        self._paths = paths
        existing = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
        if not any(path.is_file() for path in existing):
            raise ConnectionConfigError(f"kubeconfig {paths}: no such file")
        try:
            merged = KubeConfigMerger(paths).config
            plain = _plain(merged.value) if merged else {}
            active = chosen_context(plain, context)
            if merged and active["name"] == BY_FLAGS:
                merged.value["contexts"].append(ConfigNode(BY_FLAGS, active))
            self._loader = KubeConfigLoader(
                config_dict=merged, active_context=active["name"], config_base_path=None
            )
        except Exception as error:
            # The loader raises YAML, key and type errors as they come.
            raise ConnectionConfigError(f"kubeconfig {paths}: {error}") from error
        self._new_configuration = Configuration
        self._impersonation = _impersonation(entry(plain, "user", active["context"].get("user")))
        self._namespace = str(active["context"].get("namespace") or "")

    async def read(self) -> ClusterAccess:
        loaded = self._new_configuration()
        try:
            await self._loader.load_and_set(loaded)
        except Exception as error:
            raise ConnectionConfigError(f"kubeconfig {self._paths}: {error}") from error
        authorization = loaded.api_key.get("BearerToken")
        return ClusterAccess(
            server=loaded.host or "",
            # A token file ends with a newline, which is not allowed in a header.
            authorization=authorization.strip() if authorization else None,
            ca_file=loaded.ssl_ca_cert,
            client_certificate_file=loaded.cert_file,
            client_key_file=loaded.key_file,
            verify=loaded.verify_ssl,
            server_hostname=loaded.tls_server_name,
            proxy=loaded.proxy,
            impersonation=self._impersonation,
            namespace=self._namespace,
        )


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
        self._reading = asyncio.Lock()
        self.user_agent = user_agent
        self.tls = _tls_context(access) if access.server.startswith("https") else None
        self._files = _files(access)
        self._loaded = generations(*self._files)
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
    def proxy(self) -> str | None:
        """From the kubeconfig, else from `HTTPS_PROXY` and `NO_PROXY` as Go's clients read them."""
        return self._proxy

    async def authorization(self, *, refused: bool = False) -> str | None:
        """The Authorization header to send; `refused`: the last one got a 401."""
        age_limit_seconds = REREAD_AFTER_REFUSAL_SECONDS if refused else REREAD_SECONDS
        if self._age_seconds() >= age_limit_seconds:
            async with self._reading:
                if self._age_seconds() >= age_limit_seconds:
                    await self._reread()
        return self._access.authorization

    def _age_seconds(self) -> float:
        return self._monotonic() - self._read_at_seconds

    async def _reread(self) -> None:
        """Read the credentials again; if that fails, the old ones may still be valid."""
        self._read_at_seconds = self._monotonic()
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                access = await self._source.read()
            proxy = _proxy(access)
            files = self._files if _paths(access) == _paths(self._access) else _files(access)
            found = generations(*files)
            if self.tls is not None and (files is not self._files or found != self._loaded):
                # The connection pool uses this very object, so new connections use the new files.
                _load_files(self.tls, access)
        except (ConnectionConfigError, OSError, ValueError, TimeoutError) as error:
            self._problem.set(str(error) or "reading them took too long")
        else:
            self._access, self._files, self._loaded = access, files, found
            self._proxy = proxy
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

    Raises `ConnectionConfigError`.
    """
    source = access_source(kubeconfig, context, environ)
    try:
        return Connection(source, await source.read(), user_agent=user_agent)
    except (OSError, ssl.SSLError) as error:
        raise ConnectionConfigError(
            f"cannot use the certificates for the API server: {error}"
        ) from error


def _plain(merged: Mapping[str, Any]) -> dict[str, Any]:
    """A kubeconfig without the nodes in which the loader keeps the file of each entry."""
    lists = ("clusters", "contexts", "users")
    return {**merged, **{kind: [each.value for each in merged[kind]] for kind in lists}}


def _impersonation(user: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """The headers of client-go's impersonation (transport/round_trippers.go) for a user of a kubeconfig."""
    user = user or {}
    if not user.get("as"):
        return ()
    headers = [("Impersonate-User", str(user["as"]))]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += (("Impersonate-Group", str(group)) for group in user.get("as-groups") or ())
    for key, values in (user.get("as-user-extra") or {}).items():
        headers += ((f"Impersonate-Extra-{quote(str(key), safe='')}", str(each)) for each in values)
    return tuple(headers)


def access_source(
    kubeconfig: Path | None, context: ChosenContext, environ: Mapping[str, str] = os.environ
) -> AccessSource:
    """Where the credentials are, as `connect` finds them. Raises `ConnectionConfigError`."""
    if kubeconfig is not None:
        return Kubeconfig(str(kubeconfig), context)
    if environ.get("KUBECONFIG"):
        return Kubeconfig(environ["KUBECONFIG"], context)
    home = Path(environ.get("HOME", "/")) / ".kube" / "config"
    if not environ.get("KUBERNETES_SERVICE_HOST") and home.is_file():
        return Kubeconfig(str(home), context)
    return ServiceAccount(environ=environ)


def _proxy(access: ClusterAccess) -> str | None:
    try:
        return access.proxy or proxy_of_environment(access.server)
    except ValueError as error:
        raise ConnectionConfigError(str(error)) from error


def _tls_context(access: ClusterAccess) -> ssl.SSLContext:
    tls = ssl.create_default_context(cafile=access.ca_file, cadata=access.ca_pem)
    # The CAs of many clusters lack the key identifiers that this flag requires; Go does not check them.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As in Go, every certificate of a bundle is a trust anchor, also one that is not self-signed.
    tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not access.verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    _load_client_certificate(tls, access)
    return tls


def _load_files(tls: ssl.SSLContext, access: ClusterAccess) -> None:
    if access.ca_file:
        tls.load_verify_locations(cafile=access.ca_file)
    _load_client_certificate(tls, access)


def _load_client_certificate(tls: ssl.SSLContext, access: ClusterAccess) -> None:
    if access.client_certificate_file:
        tls.load_cert_chain(access.client_certificate_file, access.client_key_file)


def _paths(access: ClusterAccess) -> tuple[str | None, ...]:
    return (access.ca_file, access.client_certificate_file, access.client_key_file)


def _files(access: ClusterAccess) -> tuple[FollowedFile, ...]:
    return tuple(FollowedFile(Path(path)) for path in _paths(access) if path)
