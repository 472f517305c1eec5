"""Which CAs and which front proxy are trusted at this moment.

From the flags, else from the ConfigMap kube-system/extension-apiserver-authentication, in which the
API server publishes its own; both are followed as they change. Reading it needs the Role
extension-apiserver-authentication-reader in kube-system.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from wire.followed_file import FollowedFile
from wire.kube.cache import NameAndLabels, Reader, WatchCache
from wire.serving.certificates import Bundle, CertificateError
from wire.serving.options import RequestHeaderFlags, ServingOptions

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"

log = logging.getLogger(__name__)


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """A proxy that may say for whom it asks: its CA, its names, and the headers it says it in."""

    bundle: Bundle
    allowed_names: tuple[str, ...]
    username_headers: tuple[str, ...]
    uid_headers: tuple[str, ...]
    group_headers: tuple[str, ...]
    extra_headers_prefix: tuple[str, ...]


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """Whose client certificates mean something. None: nobody's."""

    clients: Bundle | None = None
    front_proxy: FrontProxy | None = None

    def bundles(self) -> list[bytes]:
        """Every CA there is, PEM."""
        proxy = self.front_proxy.bundle if self.front_proxy else None
        return [bundle.pem for bundle in (self.clients, proxy) if bundle is not None]


class ConfigMap(msgspec.Struct, frozen=True):
    """As much of one as is read here."""

    metadata: NameAndLabels
    data: dict[str, str] = {}


class TrustSource:
    """Keeps `current` true. Run `run()` as a task; call `reread_files()` now and then."""

    def __init__(
        self,
        options: ServingOptions,
        client: Reader | None,
        *,
        on_change: Callable[[Trust], None] = lambda _: None,
    ) -> None:
        """`client` None: there is no cluster to ask, the flags are all there is."""
        self._options = options
        self._on_change = on_change
        self._published: dict[str, str] = {}
        self._complaints: set[str] = set()
        self._client_ca = _followed(options.client_ca_file)
        self._proxy_ca = _followed(options.requestheader.client_ca_file)
        self.current = Trust()
        needs_lookup = (
            options.client_ca_file is None or options.requestheader.client_ca_file is None
        )
        self._cache: WatchCache[ConfigMap] | None = None
        if client is not None and needs_lookup and not options.authentication_skip_lookup:
            self._cache = WatchCache(
                client,
                f"/api/v1/namespaces/{NAMESPACE}/configmaps",
                ConfigMap,
                field_selector=f"metadata.name={NAME}",
                on_change=self._configured,
            )
        self.reread_files()

    @property
    def problem(self) -> str:
        """Why this server is not ready to tell who asks; empty when it is."""
        if self._cache is None or self._options.authentication_tolerate_lookup_failure:
            return ""
        if not self._cache.is_synced:
            return (
                self._cache.last_error
                or "the cluster's authentication configuration is not read yet"
            )
        if not self._published:
            return f"there is no ConfigMap {NAMESPACE}/{NAME}"
        return ""

    async def run(self) -> None:
        """Follow the ConfigMap for ever."""
        if self._cache is None:
            await asyncio.Event().wait()
        else:
            await self._cache.run()

    async def known(self, *, wait_seconds: float) -> None:
        """Wait until the ConfigMap has been read, if one is, but no longer than this."""
        if self._cache is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._cache.synced()

    def reread_files(self) -> None:
        """Take the CA files of the flags as they are now."""
        clients = self._bundle("client-ca-file", self._client_ca, self.current.clients)
        before = self.current.front_proxy.bundle if self.current.front_proxy else None
        proxy = self._bundle("requestheader-client-ca-file", self._proxy_ca, before)
        self._set(Trust(clients=clients, front_proxy=self._front_proxy(proxy)))

    def _configured(self, _old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is not None:
            self._published = new.data
            self.reread_files()
        else:
            log.warning("ConfigMap %s/%s was deleted, going on with what it said", NAMESPACE, NAME)

    def _bundle(self, key: str, file: FollowedFile | None, before: Bundle | None) -> Bundle | None:
        """A CA by flag or, failing that, by the ConfigMap's key of the same name. What cannot be
        read leaves the CA that was.
        """
        try:
            pem = file.read() if file else self._published.get(key, "").encode()
            if not pem or (before is not None and before.pem == pem):
                return before
            return Bundle(pem)
        except (OSError, CertificateError) as error:
            complaint = (
                f"--{key}: {error}" if file else f"ConfigMap {NAMESPACE}/{NAME}, {key}: {error}"
            )
            if complaint not in self._complaints:
                log.warning("%s; going on with the CA from before, if any", complaint)
                self._complaints.add(complaint)
            return before

    def _front_proxy(self, bundle: Bundle | None) -> FrontProxy | None:
        if bundle is None:
            return None
        flags = self._options.requestheader
        if flags.client_ca_file is None:
            flags = _published_headers(self._published)
        return FrontProxy(
            bundle=bundle,
            allowed_names=flags.allowed_names,
            username_headers=flags.username_headers,
            uid_headers=flags.uid_headers,
            group_headers=flags.group_headers,
            extra_headers_prefix=tuple(p.lower() for p in flags.extra_headers_prefix),
        )

    def _set(self, trust: Trust) -> None:
        if trust != self.current:
            self.current = trust
            self._on_change(trust)


def _followed(path: Path | None) -> FollowedFile | None:
    return FollowedFile(path) if path else None


def _published_headers(published: dict[str, str]) -> RequestHeaderFlags:
    def listed(key: str) -> tuple[str, ...]:
        try:
            return msgspec.json.decode(
                published.get(f"requestheader-{key}", "[]"), type=tuple[str, ...]
            )
        except msgspec.DecodeError:
            log.warning(
                "ConfigMap %s/%s: requestheader-%s is no list of strings", NAMESPACE, NAME, key
            )
            return ()

    return RequestHeaderFlags(
        allowed_names=listed("allowed-names"),
        username_headers=listed("username-headers"),
        uid_headers=listed("uid-headers"),
        group_headers=listed("group-headers"),
        extra_headers_prefix=listed("extra-headers-prefix"),
    )
