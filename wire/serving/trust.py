"""The client CAs and the front proxy that are trusted now.

They come from the flags, else from the ConfigMap kube-system/extension-apiserver-authentication, in
which kube-apiserver publishes its own; changes of both are followed. Reading it needs the Role
extension-apiserver-authentication-reader in kube-system.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from wire.followed_file import FollowedFile
from wire.kube.cache import NameAndLabels, WatchCache
from wire.kube.requests import Watcher
from wire.serving.certificates import Bundle, CertificateError
from wire.serving.options import RequestHeaderFlags, ServingOptions

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"

log = logging.getLogger(__name__)


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """A proxy that authenticates users: its CA, its allowed names, and the headers that carry the user."""

    bundle: Bundle
    allowed_names: tuple[str, ...]
    username_headers: tuple[str, ...]
    uid_headers: tuple[str, ...]
    group_headers: tuple[str, ...]
    extra_headers_prefix: tuple[str, ...]


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """The CAs of client certificates and of the front proxy. None: no such certificate is accepted."""

    clients: Bundle | None = None
    front_proxy: FrontProxy | None = None

    def bundles(self) -> list[bytes]:
        """Every CA bundle, PEM."""
        proxy = self.front_proxy.bundle if self.front_proxy else None
        return [bundle.pem for bundle in (self.clients, proxy) if bundle is not None]


class ConfigMap(msgspec.Struct, frozen=True):
    """The fields of a ConfigMap that are read here."""

    metadata: NameAndLabels
    data: dict[str, str] = {}


class TrustSource:
    """Keeps `current` up to date. Run `run()` as a task; call `reread_files()` periodically."""

    def __init__(
        self,
        options: ServingOptions,
        client: Watcher | None,
        *,
        on_change: Callable[[Trust], None] = lambda _: None,
    ) -> None:
        """`client` None: only the flags are used."""
        self._options = options
        self._on_change = on_change
        self._published: dict[str, str] = {}
        self._reported: set[str] = set()
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
        """Why clients cannot be authenticated yet; empty if they can."""
        if self._cache is None or self._options.authentication_tolerate_lookup_failure:
            return ""
        if not self._cache.is_synced:
            return self._cache.last_error or f"ConfigMap {NAMESPACE}/{NAME} has not been read yet"
        if not self._published:
            return f"ConfigMap {NAMESPACE}/{NAME} does not exist"
        return ""

    async def run(self) -> None:
        """Follow the ConfigMap; ends only by cancellation."""
        if self._cache is None:
            await asyncio.Event().wait()
        else:
            await self._cache.run()

    async def synced(self, *, wait_seconds: float) -> None:
        """Wait until the ConfigMap has been read, if it is used, but no longer than this."""
        if self._cache is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._cache.synced()

    def reread_files(self) -> None:
        """Load the CA files of the flags again if they have changed."""
        clients = self._bundle("client-ca-file", self._client_ca, self.current.clients)
        before = self.current.front_proxy.bundle if self.current.front_proxy else None
        proxy = self._bundle("requestheader-client-ca-file", self._proxy_ca, before)
        self._set(Trust(clients=clients, front_proxy=self._front_proxy(proxy)))

    def _configured(self, _old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is not None:
            self._published = new.data
            self.reread_files()
        else:
            log.warning("ConfigMap %s/%s was deleted, keeping its last content", NAMESPACE, NAME)

    def _bundle(self, key: str, file: FollowedFile | None, before: Bundle | None) -> Bundle | None:
        """A CA bundle by flag or, without one, by the ConfigMap's key of the same name. One that cannot
        be read leaves the former one.
        """
        try:
            pem = file.read() if file else self._published.get(key, "").encode()
            if not pem or (before is not None and before.pem == pem):
                return before
            return Bundle(pem)
        except (OSError, CertificateError) as error:
            problem = (
                f"--{key}: {error}" if file else f"ConfigMap {NAMESPACE}/{NAME}, {key}: {error}"
            )
            if problem not in self._reported:
                log.warning("%s; keeping the former CA, if there is one", problem)
                self._reported.add(problem)
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
                "ConfigMap %s/%s: requestheader-%s is not a list of strings", NAMESPACE, NAME, key
            )
            return ()

    return RequestHeaderFlags(
        allowed_names=listed("allowed-names"),
        username_headers=listed("username-headers"),
        uid_headers=listed("uid-headers"),
        group_headers=listed("group-headers"),
        extra_headers_prefix=listed("extra-headers-prefix"),
    )
