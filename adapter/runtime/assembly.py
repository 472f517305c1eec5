"""The parts between the listener and the outside, connected once for the server and for `explain --config`."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from adapter.answer import ActiveConfiguration, Answers, MetricPaths
from adapter.diagnosis.explainer import Explainer
from adapter.fetch.catalog import DiscoveredCatalog, Times
from adapter.fetch.cluster_mapping import ClusterMapping
from adapter.fetch.cluster_objects import WatchedObjects
from adapter.fetch.known_scrapes import KnownScrapes
from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import Freshness
from adapter.runtime.activation import ConfigurationActivator
from adapter.runtime.prometheus_identity import prometheus_credentials
from adapter.runtime.server_settings import PrometheusSettings
from adapter.wide.plans import WidePlans
from wire.kube.client import KubeClient
from wire.kube.mapper import RestMapper
from wire.process.background_tasks import BackgroundTasks


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What the server and `explain` work with. `mapper` has not read the cluster's resources yet."""

    tasks: BackgroundTasks
    mapper: RestMapper
    objects: WatchedObjects
    answers: Answers
    paths: MetricPaths
    explainer: Explainer
    activator: ConfigurationActivator
    scrapes: KnownScrapes


@contextlib.asynccontextmanager
async def assemble(
    config: Path,
    prometheus: PrometheusSettings,
    client: KubeClient,
    *,
    user_agent: str,
    times: Times | None = None,
    freshness: Freshness | None = None,
    wide_queries: bool = True,
) -> AsyncIterator[Parts]:
    """Connect the parts; at the end, stop their tasks and close their connections. No configuration is active yet.

    Raises what `prometheus_credentials` raises.
    """
    credentials = await prometheus_credentials(prometheus, user_agent=user_agent)
    tasks = BackgroundTasks()
    backends = Backends({})

    def resources_changed() -> None:
        tasks.start(activator.resources_changed(), name="catalog rebuild", may_end=True)

    mapper = RestMapper(client, on_change=resources_changed)
    mapping = ClusterMapping(mapper)
    objects = WatchedObjects(
        client, mapping, lambda watching: tasks.start(watching, name="watch of objects")
    )
    freshness = freshness or Freshness()
    scrapes = KnownScrapes(backends)
    has_range = freshness.longest_seconds > freshness.seconds
    shared = SharedEvaluations(
        backends, freshness=freshness, scrapes=scrapes if has_range else None
    )
    times = times or Times()
    catalog = DiscoveredCatalog((), backends, mapping, times)
    answers = Answers(
        evaluator=shared,
        objects=objects,
        mapping=mapping,
        active=ActiveConfiguration(catalog=catalog),
    )
    paths = MetricPaths(lambda: answers.active)
    activator = ConfigurationActivator(
        config,
        default=PrometheusClient(prometheus.backend, credentials),
        backends=backends,
        mapping=mapping,
        times=times,
        answers=answers,
        catalog=catalog,
        tasks=tasks,
        new_wide_plans=(lambda: WidePlans(shared, freshness=freshness, fresh=shared.fresh))
        if wide_queries
        else None,
    )
    try:
        yield Parts(
            tasks=tasks,
            mapper=mapper,
            objects=objects,
            answers=answers,
            paths=paths,
            explainer=Explainer(answers, paths, index=backends, mapping=mapping),
            activator=activator,
            scrapes=scrapes,
        )
    finally:
        await tasks.stop()
        await backends.close()
