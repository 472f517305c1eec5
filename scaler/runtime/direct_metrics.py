"""The parts of the direct connection to the adapter, as --adapter-service, --stream-metrics and --reconcile-on-change say."""

import time
from collections.abc import Callable

from scaler.cluster.metrics.followers import Followers
from scaler.cluster.metrics.measurements import Measurements
from scaler.cluster.metrics.metric_stream import MetricStream
from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller
from scaler.control.reaction import Reaction
from scaler.control.reconcile import Reconciler
from scaler.runtime.adapter_connection import AdapterConnection, adapter_connection
from scaler.runtime.flags import Options
from scaler.runtime.stream_connection import StreamConnection
from wire.kube.requests import Watcher
from wire.process.background_tasks import BackgroundTasks


class DirectMetrics:
    """Without --adapter-service there is neither a route nor a stream, and `start` does nothing."""

    def __init__(
        self,
        options: Options,
        watches: Watcher,
        telemetry: Telemetry,
        *,
        version: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`watches`: the client to watch the APIServices with."""
        self._options = options.adapter
        self._telemetry = telemetry
        self._monotonic = monotonic
        self.followers = Followers()
        self.route: AdapterConnection | None = adapter_connection(
            options, watches, telemetry, version=version, monotonic=monotonic
        )
        self.stream: MetricStream | None = None
        if self._options is not None and self._options.streams:
            self.stream = MetricStream(monotonic)

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
        background.start(self.route.run(), name="direct connection")
        if self.stream is None:
            return
        if self._options.reconciles_on_change:

            async def followers_of(path: str) -> tuple[str, ...]:
                request = await measurements.renewed(path)
                return () if request is None else tuple(self.followers.of(request))

            reaction = Reaction(
                followers_of,
                reconciler.may_rescale,
                controller.bring_forward,
                controller.crashes,
                monotonic=self._monotonic,
            )
            self.stream.on_change = reaction.changed
            background.start(reaction.run(), name="reaction")
        streaming = StreamConnection(self.route, self.stream, self._telemetry)
        background.start(streaming.run(), name="stream of metrics")
