"""A self-signed serving certificate that kube-apiserver verifies, without cert-manager.

The replicas share it in a Secret. Each of them follows the Secret and the APIServices, and writes the certificates to
trust into their `caBundle`. A new certificate is served only after kube-apiserver trusts it, so no request fails
while it is replaced. Needs list, watch and patch of the Secret and of the APIServices, by name.
"""

import asyncio
import base64
import contextlib
import datetime
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from adapter.certificates.renewal import Stored, stored_in, successor
from wire.api.status import StatusError, Unavailable
from wire.kube.api_services import PATH as API_SERVICES
from wire.kube.api_services import APIService
from wire.kube.cache import WatchCache
from wire.kube.client import KubeClient
from wire.kube.metadata_only import NameAndLabels
from wire.process.problem_log import ProblemLog
from wire.serving.certificates import Certificate, CertificateError, Pair, certificates_in

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
"""For `kubectl port-forward`."""

T = TypeVar("T", "Secret", APIService)

log = logging.getLogger(__name__)


class ManagedCertificateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The Secret and the Service, each as (namespace, name), and the names of the APIServices of the Service."""

    secret: tuple[str, str]
    service: tuple[str, str]
    api_services: tuple[str, ...]


class ManagedCertificateTimes(msgspec.Struct, frozen=True, kw_only=True):
    """`settle`: until every kube-apiserver has read a change of an APIService. `check`: how often the age of the certificate
    is checked.
    """

    settle_seconds: float = 10.0
    check_seconds: float = 60.0


class Secret(msgspec.Struct, frozen=True):
    """The fields of a Secret that are read here."""

    metadata: NameAndLabels
    data: dict[str, str] = {}


class ManagedCertificate:
    """Keeps one certificate. Run `run()` as a task."""

    def __init__(
        self,
        client: KubeClient,
        options: ManagedCertificateOptions,
        *,
        times: ManagedCertificateTimes | None = None,
    ) -> None:
        self._client = client
        self._options = options
        self._times = times or ManagedCertificateTimes()
        self._changed = asyncio.Event()
        self._served: Pair | None = None
        self._accepted_since: dict[bytes, float] = {}
        self._refused: list[str] = []
        namespace, name = options.secret
        self._secret_path = f"/api/v1/namespaces/{namespace}/secrets"
        self._secrets = self._followed(self._secret_path, name, Secret)
        self._registrations = [
            self._followed(API_SERVICES, each, APIService) for each in options.api_services
        ]
        self._problem = ProblemLog(
            log,
            failing="the serving certificate cannot be managed",
            recovered="the serving certificate is managed again",
        )

    @property
    def problem(self) -> str | None:
        """Why kube-apiserver does not accept the certificate that is served; None if it does."""
        if self._served is None:
            errors = [cache.last_error for cache in self._caches() if cache.last_error]
            return self._problem.problem or next(iter(errors), "the certificate has not been read")
        if self._refused:
            reason = self._problem.problem or "caBundle is being written"
            return f"kube-apiserver cannot verify it for {', '.join(self._refused)}: {reason}"
        return None

    async def run(self, serve: Callable[[Pair], None]) -> None:
        """Call `serve` with each certificate that is to be served from then on. Ends only by cancellation."""
        async with asyncio.TaskGroup() as group:
            for cache in self._caches():
                group.create_task(cache.run())
            for cache in self._caches():
                await cache.synced()
            while True:
                self._changed.clear()
                try:
                    await self._reconcile(serve)
                    self._problem.set(self._without_a_secret())
                except (StatusError, Unavailable) as error:
                    if not (isinstance(error, StatusError) and error.code == 409):
                        self._problem.set(error.message)
                await self._wait()

    def _followed(self, path: str, name: str, kind: type[T]) -> WatchCache[T]:
        return WatchCache(
            self._client,
            path,
            kind,
            field_selector=f"metadata.name={name}",
            on_change=lambda _old, _new: self._changed.set(),
        )

    def _caches(self) -> Sequence[WatchCache[Secret] | WatchCache[APIService]]:
        return (self._secrets, *self._registrations)

    async def _wait(self) -> None:
        """Until something has changed, or a waiting time may be over."""
        pause = min(self._times.check_seconds, self._times.settle_seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._changed.wait()

    def _without_a_secret(self) -> str | None:
        if self._secrets.get(*self._options.secret) is not None:
            return None
        return (
            f"Secret {'/'.join(self._options.secret)} does not exist. The chart creates it: run `helm upgrade`, "
            "or create an empty Secret of this name"
        )

    async def _reconcile(self, serve: Callable[[Pair], None]) -> None:
        """Renew what is due, let kube-apiserver trust it, then serve it. A failed write is repeated at the next call."""
        registrations = list(self._own_registrations())
        secret = self._secrets.get(*self._options.secret)
        if secret is not None:
            stored = stored_in(secret.data)
            renewed = successor(
                stored,
                names=self._names(),
                trusted=_trusted(registrations),
                now=datetime.datetime.now(datetime.UTC),
            )
            if renewed is not None:
                await self._store(secret, renewed)
                return  # The watch shows what is stored, by this replica or by another one.
            if stored is not None:
                self._serve_when_accepted(stored.pair, registrations, serve)
                self._judge(registrations)
                for each in registrations:
                    await self._let_trust(each, stored)
        self._judge(registrations)

    def _names(self) -> tuple[str, ...]:
        namespace, name = self._options.service
        return (f"{name}.{namespace}.svc", f"{name}.{namespace}", name, *LOOPBACK_NAMES)

    def _own_registrations(self) -> Iterator[APIService]:
        """The APIServices that lead to the Service. One that leads elsewhere belongs to another program."""
        for cache in self._registrations:
            for each in cache.items:
                service = each.spec.service
                if service and (service.namespace, service.name) == self._options.service:
                    yield each

    async def _store(self, secret: Secret, renewed: Stored) -> None:
        namespace, name = self._options.secret
        await self._patch(self._secret_path, secret.metadata, {"data": renewed.data()})
        until = renewed.bundle[0].not_after
        log.info("stored a certificate in Secret %s/%s, valid until %s", namespace, name, until)

    async def _let_trust(self, registration: APIService, stored: Stored) -> None:
        name, spec = registration.metadata.name, registration.spec
        bundle = base64.b64encode(stored.ca_bundle).decode()
        # An APIService that skips the verification stays so: a rollback with Helm relies on that field.
        if spec.insecure or spec.ca_bundle == bundle:
            return
        await self._patch(API_SERVICES, registration.metadata, {"spec": {"caBundle": bundle}})
        log.info("kube-apiserver verifies the certificate for APIService %s", name)

    async def _patch(self, path: str, metadata: NameAndLabels, change: dict[str, object]) -> None:
        """Change the object as it was read: if it has changed since, the API server responds with 409."""
        body = {"metadata": {"resourceVersion": metadata.resource_version}, **change}
        await self._client.patch(f"{path}/{metadata.name}", msgspec.json.encode(body))

    def _serve_when_accepted(
        self, pair: Pair, registrations: Sequence[APIService], serve: Callable[[Pair], None]
    ) -> None:
        """A pair replaces another one when all registrations have accepted it for a while; the first one is served at once."""
        if pair == self._served:
            return
        if self._served is not None:
            if not all(each.accepts(pair.certificate) for each in registrations):
                self._accepted_since.clear()
                return
            since = self._accepted_since.setdefault(pair.certificate, time.monotonic())
            if time.monotonic() - since < self._times.settle_seconds:
                return
        serve(pair)
        self._served = pair
        self._accepted_since.clear()

    def _judge(self, registrations: Sequence[APIService]) -> None:
        served = self._served
        self._refused = [
            each.metadata.name
            for each in registrations
            if served is None or not each.accepts(served.certificate)
        ]


def _trusted(registrations: Sequence[APIService]) -> Iterator[Certificate]:
    """What kube-apiserver trusts for any of them."""
    for each in registrations:
        with contextlib.suppress(CertificateError):
            yield from certificates_in(each.trusted_pem)
