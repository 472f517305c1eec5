"""What is read for extensions: the calendars of schedules, the owners of pods, and with --prometheus-url the recorded load of a forecast."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from scaler.api.autoscaler import Autoscaler, CrossVersionObjectReference, MetricSpec
from scaler.api.schedules import FoundCalendar
from scaler.cluster.forecast.load_query import NoRecordedLoad, load_query
from scaler.cluster.forecast.recorded_load import RecordedLoad
from scaler.cluster.forecast.warm_starts import WarmStarts
from scaler.cluster.pod_owners import PodOwners
from scaler.cluster.telemetry import Telemetry
from scaler.control.dependencies import DecisionObserver
from scaler.extensions import inputs_of
from scaler.runtime.adapter_connection import AdapterConnections
from wire.kube.mapper import RestMapper
from wire.kube.requests import Watcher
from wire.process.background_tasks import BackgroundTasks
from wire.prometheus.options import PrometheusOptions

# After the start, the direct connection takes a moment.
CONNECTION_SECONDS: Final = 30.0


class ExtensionInputs:
    """What is read beside the metrics, and found by the next reconcile."""

    def __init__(
        self,
        calendars_of: Callable[[Autoscaler], tuple[FoundCalendar, ...]],
        prometheus: PrometheusOptions | None,
        route: AdapterConnections | None,
        mapper: RestMapper,
        telemetry: Telemetry,
        client: Watcher,
        namespaces: Sequence[str],
        background: BackgroundTasks,
        *,
        user_agent: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`prometheus`: None without --prometheus-url; `route`: None with --adapter-connection=never.

        `client` and `background`: for the watches of owners. `namespaces`: empty for all.
        """
        self._calendars_of = calendars_of
        self.owners = PodOwners(
            client,
            mapper,
            namespaces,
            lambda work, name: background.start(work, name=name),
            monotonic=monotonic,
        )
        self._mapper = mapper
        self._route = route
        self._warm_starts: WarmStarts | None = None
        if prometheus is not None and route is not None:
            loads = RecordedLoad(prometheus, user_agent=user_agent)
            self._warm_starts = WarmStarts(self._query_of, loads, telemetry, monotonic=monotonic)

    @property
    def observers(self) -> tuple[DecisionObserver, ...]:
        """What the reconciles report to."""
        return () if self._warm_starts is None else (self._warm_starts,)

    def of(self, autoscaler: Autoscaler) -> dict[str, object]:
        """By the name of the extension."""
        warm_starts = self._warm_starts
        return inputs_of(
            calendars=self._calendars_of(autoscaler),
            warm_start=None if warm_starts is None else warm_starts.found(autoscaler.key),
        )

    def start(self, background: BackgroundTasks) -> None:
        """Read, until the program ends."""
        if self._warm_starts is not None:
            background.start(self._warm_starts.run(), name="warm starts")

    async def _query_of(
        self, namespace: str, metric: MetricSpec, target: CrossVersionObjectReference
    ) -> str:
        if self._route is None:
            raise NoRecordedLoad("it needs a direct connection: remove --adapter-connection=never")
        try:
            async with asyncio.timeout(CONNECTION_SECONDS):
                adapter = await self._route.connected(self._route.explaining)
        except TimeoutError as error:
            raise NoRecordedLoad("the adapter cannot be reached directly") from error
        return await load_query(adapter, self._mapper, namespace, metric, target)
