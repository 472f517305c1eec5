"""The parts of direct connections to adapters, as --adapter-connection, --stream-metrics and --reconcile-on-change say."""

import time
from collections.abc import Callable

from scaler.cluster.metrics.followers import Followers
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.metrics.metric_requests import MetricRequest
from scaler.cluster.metrics.metric_stream import MetricStream
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.reaction import Reaction
from scaler.control.reconcile import Reconciler
from scaler.runtime.adapter_connection import AdapterConnections, adapter_connections
from scaler.runtime.adapter_options import NEVER
from scaler.runtime.clients import Clients
from scaler.runtime.flags import Options
from scaler.runtime.stream_connection import StreamConnection
from wire.process.background_tasks import BackgroundTasks
from wire.process.readiness import Check


class DirectMetrics:
    """With --adapter-connection=never there is neither a route nor a stream, and `start` does nothing."""

    def __init__(
        self,
        options: Options,
        clients: Clients,
        telemetry: Telemetry,
        *,
        version: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clients`: of kube-apiserver, for the APIServices and for tokens."""
        self._options = options.adapter
        self._kind = options.settings.kind
        self._telemetry = telemetry
        self._monotonic = monotonic
        self.followers: Followers[MetricRequest] = Followers()
        self.route: AdapterConnections | None = adapter_connections(
            options, clients, telemetry, version=version, monotonic=monotonic
        )
        self.stream: MetricStream | None = None
        if self._options is not None and self._options.streams != NEVER:
            self.stream = MetricStream(monotonic)

    def summary(self) -> str:
        """How metrics are read at present, to go on after "Metrics are read"."""
        services = () if self.route is None else self.route.direct_services()
        if not services:
            return "through kube-apiserver"
        streamed = 0 if self.stream is None else self.stream.responses
        return f"directly from Service {' and '.join(services)}, {streamed} of them streamed"

    def checks(self) -> tuple[Check, ...]:
        """For /readyz, where they only inform: kube-apiserver serves what is not read directly."""
        if self.route is None:
            return ()
        return (Check("direct-metrics", self.route.problem, informs=True),)

    def start(
        self,
        background: BackgroundTasks,
        measurements: Measurements,
        reconciler: Reconciler,
        controller: Controller,
    ) -> None:
        """Connect, and stay connected."""
        if self.route is None or self._options is None:
            return
        background.start(self.route.run(), name="direct connections")
        if self.stream is None:
            return
        if self._options.reacts(self._kind):

            async def followers_of(path: str) -> tuple[str, ...]:
                request = await measurements.renewed(path)
                return () if request is None else tuple(self.followers.of(request))

            reaction = Reaction(
                followers_of,
                reconciler.rescale_due_seconds,
                controller.bring_forward,
                controller.crashes,
                monotonic=self._monotonic,
            )
            self.stream.on_change = reaction.changed
            background.start(reaction.run(), name="reaction")
        streaming = StreamConnection(
            self.route, self.stream, self._telemetry, monotonic=self._monotonic
        )
        background.start(streaming.run(), name="stream of metrics")
