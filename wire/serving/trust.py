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

from wire.kube.cache import WatchCache
from wire.kube.metadata_only import NameAndLabels
from wire.kube.requests import Watcher
from wire.process.followed_file import FollowedFile
from wire.serving.certificates import Bundle, CertificateError
from wire.serving.options import RequestHeaderFlags, ServingConfigError, ServingOptions

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
        """`client` None: only the flags are used. Raises `ServingConfigError` if a file cannot be used."""
        self._options = options
        self._on_change = on_change
        self._published: dict[str, str] = {}
        self._problems: list[str] = []
        self._unusable: str | None = None
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
        self._check_files()
        self.reread_files()

    @property
    def problem(self) -> str | None:
        """Why clients cannot be authenticated yet; None if they can."""
        if self._cache is None or self._options.authentication_tolerate_lookup_failure:
            return None
        if not self._cache.is_synced:
            return self._cache.last_error or f"ConfigMap {NAMESPACE}/{NAME} has not been read yet"
        if not self._published:
            return f"ConfigMap {NAMESPACE}/{NAME} does not exist"
        return self._unusable

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
        reported, self._problems, self._unusable = self._problems, [], None
        clients = self._bundle("client-ca-file", self._client_ca, self.current.clients)
        former = self.current.front_proxy
        ca = self._bundle(
            "requestheader-client-ca-file", self._proxy_ca, former.bundle if former else None
        )
        trust = Trust(clients=clients, front_proxy=self._front_proxy(ca))
        for problem in self._problems:
            if problem not in reported:
                log.warning("%s", problem)
        if trust != self.current:
            self.current = trust
            self._on_change(trust)

    def _configured(self, _old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is not None:
            self._published = new.data
            self.reread_files()
        else:
            log.warning("ConfigMap %s/%s was deleted, keeping its last content", NAMESPACE, NAME)

    def _check_files(self) -> None:
        """As upstream, refuse to start with a CA file under which no client can be authenticated."""
        files = {"client-ca-file": self._client_ca, "requestheader-client-ca-file": self._proxy_ca}
        for key, file in files.items():
            if file is None:
                continue
            try:
                Bundle(file.read())
            except (OSError, CertificateError) as error:
                cause = error.strerror if isinstance(error, OSError) else error
                raise ServingConfigError(
                    f"--{key} {file.path}: {cause}. Check the path, its mount and its content"
                ) from error

    def _bundle(self, key: str, file: FollowedFile | None, before: Bundle | None) -> Bundle | None:
        """A CA bundle by flag or, without one, by the ConfigMap's key of the same name. One that cannot
        be read leaves the former one.
        """
        try:
            pem = file.read() if file else self._published.get(key, "").encode()
            if (not pem and not file) or (before is not None and before.source == pem):
                return before
            return Bundle(pem)
        except (OSError, CertificateError) as error:
            source = f"--{key}" if file else f"ConfigMap {NAMESPACE}/{NAME}, {key}"
            self._keep(f"{source}: {error}; keeping the previous CA, if there is one", before)
            return before

    def _front_proxy(self, bundle: Bundle | None) -> FrontProxy | None:
        """The proxy of `bundle`. While the published configuration is malformed, the former proxy
        stays trusted or none is: an unreadable list of names must not allow every name.
        """
        if bundle is None:
            return None
        flags = self._options.requestheader
        if flags.client_ca_file is None:
            try:
                flags = _published_headers(self._published)
            except ValueError as error:
                return self._former_proxy(str(error))
        return FrontProxy(
            bundle=bundle,
            allowed_names=flags.allowed_names,
            username_headers=flags.username_headers,
            uid_headers=flags.uid_headers,
            group_headers=flags.group_headers,
            extra_headers_prefix=tuple(p.lower() for p in flags.extra_headers_prefix),
        )

    def _former_proxy(self, problem: str) -> FrontProxy | None:
        former = self.current.front_proxy
        self._keep(f"{problem}; keeping the previous front proxy, if there is one", former)
        return former

    def _keep(self, problem: str, former: object) -> None:
        self._problems.append(problem)
        if former is None:
            self._unusable = problem


def _followed(path: Path | None) -> FollowedFile | None:
    return FollowedFile(path) if path else None


def _published_headers(published: dict[str, str]) -> RequestHeaderFlags:
    """Raises `ValueError` that names the malformed key."""

    def names(key: str) -> tuple[str, ...]:
        text = published.get(f"requestheader-{key}", "")
        try:
            return msgspec.json.decode(text or "[]", type=tuple[str, ...] | None) or ()
        except msgspec.DecodeError as error:
            raise ValueError(
                f"ConfigMap {NAMESPACE}/{NAME}: requestheader-{key} is not a JSON list of strings"
            ) from error

    return RequestHeaderFlags(
        allowed_names=names("allowed-names"),
        username_headers=names("username-headers"),
        uid_headers=names("uid-headers"),
        group_headers=names("group-headers"),
        extra_headers_prefix=names("extra-headers-prefix"),
    )
