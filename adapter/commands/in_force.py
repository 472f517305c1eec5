"""A configuration brought into force: backends, catalog and groups are made beside the former ones, then swapped.

Until the swap every request is answered by the former configuration, after it by the new one, and by neither in part.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from adapter.answer import Answers, InForce
from adapter.config import ConfigError, ConfigProblem, Configuration
from adapter.fetch.catalog import DiscoveredCatalog, Times
from adapter.fetch.credentials import Credentials, FileCredentials
from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.model import Backend, ResourceMapping
from adapter.ports import Prometheus
from wire import custom_metrics, external_metrics, resource_metrics

log = logging.getLogger(__name__)

FIRST_LISTING_SECONDS = 20.0
"""How long a reload waits for the new rules' series, so that their metrics do not vanish in between."""


class Upkeep:
    """Tasks that live as long as the program, ended together."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.failed = asyncio.Event()
        """Set when one of them failed, which is a bug: the program had better start anew."""

    def spawn(self, run: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run until `end`, or until the task is cancelled."""
        task = asyncio.create_task(run)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.critical("a task that should run for ever failed", exc_info=error)
            self.failed.set()

    async def end(self) -> None:
        """Cancel everything and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Switch:
    """Brings configurations into force, one after the other."""

    def __init__(
        self,
        file: Path,
        *,
        default_backend: Backend,
        default_credentials: Credentials,
        backends: Backends,
        prometheus: Prometheus,
        mapping: ResourceMapping,
        times: Times,
        answers: Answers,
        upkeep: Upkeep,
    ) -> None:
        """`prometheus` is what is asked, around `backends`; the default backend is that of the flags."""
        self._file = file
        self._default = PrometheusClient(default_backend, default_credentials)
        self._clients: dict[str, PrometheusClient] = {default_backend.name: self._default}
        self._backends = backends
        self._backends.replace(self._clients)
        self._prometheus = prometheus
        self._mapping = mapping
        self._times = times
        self._answers = answers
        self._upkeep = upkeep
        self._following: asyncio.Task[None] | None = None
        self.catalog = DiscoveredCatalog((), prometheus, mapping, times)

    async def apply(self, configuration: Configuration) -> None:
        """Bring it into force; raises `ConfigError` and changes nothing when a file it names cannot be used."""
        clients = self._clients_of(configuration)
        # New names first: the rules that use them are listed before the former rules end.
        self._backends.replace({**self._clients, **clients})
        # In a thread: what is known already may be a lot of series.
        catalog = await asyncio.to_thread(
            DiscoveredCatalog,
            configuration.rules,
            self._prometheus,
            self._mapping,
            self._times,
            known=self.catalog.listings,
        )
        following = self._upkeep.spawn(catalog.run())
        if self._following:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(catalog.tried(), FIRST_LISTING_SECONDS)
        self._swap(configuration, catalog)
        if self._following:
            self._following.cancel()
        self._following = following
        self._drop(clients)

    def _swap(self, configuration: Configuration, catalog: DiscoveredCatalog) -> None:
        self.catalog = catalog
        catalog.publish()
        self._answers.in_force = InForce(
            catalog=catalog,
            groups=_groups(configuration),
            resource_rules=configuration.resource_rules,
        )

    def _clients_of(self, configuration: Configuration) -> dict[str, PrometheusClient]:
        """A client for each backend; one that is as before keeps its connections."""
        clients = {self._default.backend.name: self._default}
        for index, backend in enumerate(configuration.backends):
            former = self._clients.get(backend.name)
            if former and former.backend == backend:
                clients[backend.name] = former
            else:
                clients[backend.name] = self._client(backend, f"backends[{index}]")
        return clients

    def _client(self, backend: Backend, path: str) -> PrometheusClient:
        credentials = FileCredentials(backend)
        try:
            credentials.check()
        except (OSError, ssl.SSLError, ValueError) as error:
            problem = ConfigProblem(
                path=path,
                line=0,
                problem=f"a file of it cannot be used: {error}",
                fix="Check its mount and content.",
            )
            raise ConfigError(str(self._file), [problem]) from error
        return PrometheusClient(backend, credentials)

    def _drop(self, clients: Mapping[str, PrometheusClient]) -> None:
        self._clients = dict(clients)
        for unused in self._backends.replace(self._clients):
            self._upkeep.spawn(_close_later(unused))


def _groups(configuration: Configuration) -> tuple[str, ...]:
    served = (
        (configuration.serves_custom, custom_metrics.GROUP),
        (configuration.serves_external, external_metrics.GROUP),
        (configuration.serves_usage, resource_metrics.GROUP),
    )
    return tuple(group for is_served, group in served if is_served)


async def _close_later(client: PrometheusClient) -> None:
    """Close it when the questions in flight must have ended."""
    try:
        await asyncio.sleep(client.backend.timeout_seconds)
    finally:
        await client.close()
