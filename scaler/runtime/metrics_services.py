"""Which Services serve the metrics APIs, by the APIServices, as kube-apiserver finds and verifies them.

A group that another Service serves is never requested from a server, since the two could have different metrics of the same name.
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from scaler.runtime.adapter_options import AdapterOptions
from wire.api import custom_metrics, external_metrics, resource_metrics
from wire.kube.api_services import PATH as API_SERVICES
from wire.kube.api_services import APIService
from wire.kube.cache import WatchCache
from wire.kube.requests import Watcher

GROUPS: Final = (custom_metrics.GROUP, external_metrics.GROUP, resource_metrics.GROUP)
# kube-apiserver sends a bookmark about once a minute, and at full load every two (122 s were measured while 10,000 targets
# were scaled). To read metrics through it just then would add to its load. What was not confirmed for longer is not relied on.
AGE_SECONDS_MAX: Final = 150.0


class Address(msgspec.Struct, frozen=True):
    """Where a Service is. Its certificate is verified with `ca_pem`, for `server_hostname`."""

    service: tuple[str, str]
    url: str
    ca_pem: str

    @property
    def server_hostname(self) -> str:
        """The name for which its certificate is valid, and the audience of tokens for it alone."""
        namespace, name = self.service
        return f"{name}.{namespace}.svc"

    @property
    def service_name(self) -> str:
        """`namespace/name`."""
        return "/".join(self.service)


class MetricsServices:
    """Implements the part of the APIServices in a direct connection. Run `run()` as a task."""

    def __init__(
        self,
        client: Watcher,
        options: AdapterOptions,
        *,
        on_change: Callable[[], None],
        on_available: Callable[[Address], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_change`: `addresses` or `problems` are others. `on_available`: kube-apiserver reaches the Service again."""
        self._options = options
        self._on_change = on_change
        self._on_available = on_available
        self._cache = WatchCache(
            client, API_SERVICES, APIService, on_change=self._changed, monotonic=monotonic
        )
        self._found: dict[str, Address | str] = {}
        """By the name of the APIService; a text says why there is no address."""

    async def run(self) -> None:
        """Follow the APIServices. Ends only by cancellation."""
        await self._cache.run()

    async def synced(self) -> None:
        """Wait for the first LIST."""
        await self._cache.synced()

    def address(self, group: str, version: str) -> Address | None:
        """Where kube-apiserver forwards requests to this group and version, if that is known and can be verified."""
        found = self._found.get(f"{version}.{group}")
        return found if isinstance(found, Address) and not self.problem() else None

    @property
    def addresses(self) -> frozenset[Address]:
        """All of them."""
        return frozenset(each for each in self._found.values() if isinstance(each, Address))

    @property
    def problems(self) -> dict[str, str]:
        """Why a Service is not connected to, by the name of its APIService."""
        return {name: each for name, each in self._found.items() if isinstance(each, str)}

    def problem(self) -> str | None:
        """Why it is not known which Services serve the metrics APIs."""
        cache = self._cache
        if not cache.is_synced:
            return cache.last_error or "the APIServices have not been listed yet"
        if cache.last_error or cache.age_seconds > AGE_SECONDS_MAX:
            return (
                cache.last_error
                or f"kube-apiserver has not confirmed the APIServices for more than {AGE_SECONDS_MAX:g} s"
            )
        return None

    def _changed(self, old: APIService | None, new: APIService | None) -> None:
        named = new or old
        if named is None or named.metadata.name.partition(".")[2] not in GROUPS:
            return
        name = named.metadata.name
        before, now = self._found.get(name), None if new is None else self._place(new)
        if now is None:
            self._found.pop(name, None)
        else:
            self._found[name] = now
        if now != before:
            self._on_change()
        elif isinstance(now, Address) and _is_back(old, new):
            self._on_available(now)

    def _place(self, registration: APIService) -> Address | str | None:
        """Of a Service that is to be connected to; why not; or None if it is none of those."""
        service, options = registration.spec.service, self._options
        if service is None:
            return None
        named = service.namespace, service.name
        if options.service not in (None, named):
            return None
        pem = registration.trusted_pem.decode("ascii", "replace")
        if registration.spec.insecure or not pem:
            what = "skips the verification" if registration.spec.insecure else "has no caBundle"
            return (
                f"APIService {registration.metadata.name} {what}, so the certificate of its Service cannot be verified: "
                "set its caBundle (`tls` in the values of the adapter's chart)"
            )
        url = options.url or f"https://{service.name}.{service.namespace}.svc:{service.port or 443}"
        return Address(named, url, pem)


def _is_back(old: APIService | None, new: APIService | None) -> bool:
    return new is not None and new.is_available and not (old is not None and old.is_available)
