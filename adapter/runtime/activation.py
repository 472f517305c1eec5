"""How a configuration becomes the active one: its backends and its catalog are built beside the active ones, then swapped.

A request that began before the swap is answered by the old configuration, one that begins after it by the new one, and none by a mix.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from adapter.answer import ActiveConfiguration, Answers
from adapter.config import ConfigError, ConfigProblem, Configuration, ProblemCode
from adapter.fetch.catalog import DiscoveredCatalog, Times
from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.model import Backend, BackendRef, NamedRule, ResourceMapping
from adapter.wide.plans import WidePlans
from wire.api import custom_metrics, external_metrics, resource_metrics
from wire.process.background_tasks import BackgroundTasks
from wire.process.response_budget import ResponseBudget
from wire.prometheus.access import FileCredentials

FIRST_LISTING_SECONDS = 20.0
"""How long a reload waits for the series of new rules, so that their metrics do not disappear in between."""

REQUEST_SECONDS = 60.0
"""After this time kube-apiserver ends a request, so no client waits for it any more."""


class ConfigurationActivator:
    """Activates configurations, one after the other."""

    def __init__(
        self,
        file: Path,
        *,
        default: PrometheusClient,
        backends: Backends,
        mapping: ResourceMapping,
        times: Times,
        answers: Answers,
        catalog: DiscoveredCatalog,
        tasks: BackgroundTasks,
        new_wide_plans: Callable[[], WidePlans] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`default` serves the rules that name no backend; each configuration adds its own to `backends`. `catalog`: without rules, until
        a configuration is active. `new_wide_plans`: those of each configuration; None: there are no wide queries.
        """
        self._file = file
        self._default = default
        self._clients: dict[BackendRef, PrometheusClient] = {BackendRef(): default}
        self._backends = backends
        self._backends.add(self._clients)
        self._mapping = mapping
        self._times = times
        self._answers = answers
        self._tasks = tasks
        self._new_wide_plans = new_wide_plans
        self._sleep = sleep
        self._listing: asyncio.Task[None] | None = None
        self._resource_changes = 0
        self._has_been_ready = False
        self.catalog = catalog

    async def activate(self, configuration: Configuration) -> None:
        """Replace the active configuration. Raises `ConfigError`, and changes nothing, when a file it names is unusable."""
        clients = backend_clients(
            configuration.backends,
            file=self._file,
            default=self._default,
            active=self._clients,
        )
        # New backends first: the series of the new rules are listed before the old rules are dropped. A backend whose limits change
        # serves the old rules by the old limits until then.
        self._backends.add({ref: each for ref, each in clients.items() if ref not in self._clients})
        resource_changes = self._resource_changes
        # In a thread: the series that are already known may be many.
        catalog = await asyncio.to_thread(
            DiscoveredCatalog,
            configuration.rules,
            self._backends,
            self._mapping,
            self._times,
            known=self.catalog.listings,
        )
        listing = self._tasks.start(
            # It has nothing to do, and ends, where every metric names its query.
            catalog.run(),
            name="series listing",
            may_end=True,
        )
        if self._listing:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(catalog.tried(), FIRST_LISTING_SECONDS)
        while self._resource_changes != resource_changes:
            resource_changes = self._resource_changes
            await catalog.rebuild()
        self._backends.add(clients)
        self._swap(configuration, catalog)
        if self._listing:
            self._listing.cancel()
        self._listing = listing
        self._use_only(clients)

    async def resources_changed(self) -> None:
        """Offer metrics of the cluster's new resources, and no longer those of the resources that are gone."""
        self._resource_changes += 1
        await self.catalog.rebuild()

    @property
    def problem(self) -> str | None:
        """Why nothing can be served yet. None as soon as something could be served once, whatever fails afterwards.

        Without any series, metrics that need none are served when each selection was tried.
        """
        serves_unlisted = self._answers.active.resource_rules or any(
            isinstance(each.rule, NamedRule) for each in self.catalog.listed()
        )
        if self._has_been_ready or (serves_unlisted and self.catalog.was_tried):
            return None
        return self.catalog.problem

    def _swap(self, configuration: Configuration, catalog: DiscoveredCatalog) -> None:
        if self._listing:
            self._has_been_ready = self.problem is None
        self.catalog = catalog
        catalog.publish()
        self._answers.active = ActiveConfiguration(
            catalog=catalog,
            groups=_groups(configuration),
            resource_rules=configuration.resource_rules,
            wide_plans=self._new_wide_plans() if self._new_wide_plans else None,
        )

    def _use_only(self, clients: Mapping[BackendRef, PrometheusClient]) -> None:
        previous, self._clients = self._clients, dict(clients)
        for unused in (each for each in previous.values() if each not in clients.values()):
            self._tasks.start(self._close_later(unused), name="backend closing", may_end=True)

    async def _close_later(self, client: PrometheusClient) -> None:
        """Close it once the requests under way, which may not have sent their query yet, must have ended."""
        try:
            await self._sleep(REQUEST_SECONDS + client.backend.timeout_seconds)
        finally:
            self._backends.remove(client)
            await client.close()


def backend_clients(
    backends: tuple[Backend, ...],
    *,
    file: Path,
    default: PrometheusClient,
    active: Mapping[BackendRef, PrometheusClient],
) -> dict[BackendRef, PrometheusClient]:
    """A client for each backend of `file`, and the default one; a backend that did not change keeps its client.

    Raises `ConfigError` when a file that a backend names is unusable.
    """
    clients = {BackendRef(): default}
    for index, backend in enumerate(backends):
        client = active.get(backend.ref)
        if client is None or client.backend != backend:
            path = f"backends[{index}]"
            client = _client(backend, default.budget, file=file, path=path)
        clients[backend.ref] = client
    return clients


def _client(backend: Backend, budget: ResponseBudget, *, file: Path, path: str) -> PrometheusClient:
    credentials = FileCredentials(backend)
    try:
        credentials.check()
    except (OSError, ssl.SSLError, ValueError) as error:
        problem = ConfigProblem(
            code=ProblemCode.UNUSABLE_FILE,
            path=path,
            line=0,
            problem=f"a file it names cannot be used: {error}",
            fix="Check its mount and content.",
        )
        raise ConfigError(str(file), [problem]) from error
    return PrometheusClient(backend, credentials, budget)


def _groups(configuration: Configuration) -> tuple[str, ...]:
    served = (
        (configuration.serves_custom, custom_metrics.GROUP),
        (configuration.serves_external, external_metrics.GROUP),
        (configuration.serves_usage, resource_metrics.GROUP),
    )
    return tuple(group for is_served, group in served if is_served)
