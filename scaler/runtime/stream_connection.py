"""Keeps the stream of changed metrics open while there is a direct connection to an adapter that offers it."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

import msgspec

from scaler.cluster.metrics.metric_stream import MetricStream
from scaler.cluster.telemetry import Telemetry
from scaler.runtime.adapter_connection import AdapterConnections
from scaler.runtime.service_connection import AdapterClient
from scaler.runtime.websocket import WebSocket
from wire.api.metric_stream import PATH, PATHS_MAX, PATHS_MAX_BY_DEFAULT, decode_update
from wire.api.offers import LARGE_METRIC_STREAM
from wire.api.status import StatusError, Unavailable
from wire.process.backoff import Backoff, BackoffLimits
from wire.process.first_of import first_of
from wire.process.problem_log import ProblemLog

# How often the adapter gets the time and the new paths. So much older a confirmation is at most than the metrics that it confirms.
REQUEST_SECONDS: Final = 0.25
# The adapter confirms about every second, or every few seconds with very many metrics.
RECEIVE_SECONDS: Final = 15.0
RETRIES: Final = BackoffLimits(initial_seconds=0.5, max_seconds=30.0, jitter_ratio=0.2)
# A stream that has been open for so long begins with the shortest pause again. One that the adapter accepts and ends at once has failed.
STEADY_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class StreamConnection:
    """Run `run()` as a task."""

    def __init__(
        self,
        adapter: AdapterConnections,
        stream: MetricStream,
        telemetry: Telemetry,
        *,
        backoff: Backoff | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`backoff`: the pauses between streams."""
        self._adapter = adapter
        self._stream = stream
        self._telemetry = telemetry
        self._backoff = backoff or Backoff(RETRIES)
        self._monotonic = monotonic
        self._problem = ProblemLog(
            log,
            failing="metrics are not streamed; they are requested in each reconcile",
            recovered="changed metrics are streamed by the adapter",
        )
        self._problem.problem = "not connected yet"

    async def run(self) -> None:
        """Connect again after each failure. Ends only by cancellation."""
        while True:
            client = await self._adapter.connected(self._adapter.streaming)
            try:
                async with client.websocket(PATH) as socket:
                    await self._use(client, socket)
                self._problem.set("the direct connection has ended")
            except (StatusError, Unavailable) as error:
                self._problem.set(error.message)
            except msgspec.DecodeError as error:
                self._problem.set(f"the adapter sent an invalid message: {error}")
            finally:
                self._stream.closed()
                self._telemetry.stream_connected.set(0)
                self._telemetry.streamed_metrics.set(0)
            await asyncio.sleep(self._backoff.next_seconds())

    async def _use(self, client: AdapterClient, socket: WebSocket) -> None:
        opened_at_seconds = self._monotonic()
        self._stream.opened(self._served_by(client), paths_max=self._paths_max(client))
        self._telemetry.stream_connected.set(1)
        self._problem.set(None)
        try:
            await self._exchange(client, socket)
        finally:
            if self._monotonic() - opened_at_seconds >= STEADY_SECONDS:
                self._backoff.reset()

    def _paths_max(self, client: AdapterClient) -> int:
        is_large = self._adapter.offers(client, LARGE_METRIC_STREAM)
        return PATHS_MAX if is_large else PATHS_MAX_BY_DEFAULT

    async def _exchange(self, client: AdapterClient, socket: WebSocket) -> None:
        """Send and receive until one of both fails, which it raises, or the direct connection ends."""
        await first_of(self._send(client, socket), self._receive(socket))

    async def _send(self, client: AdapterClient, socket: WebSocket) -> None:
        while self._adapter.streaming() is client:
            for message in self._stream.requests():
                await socket.send(message)
            await asyncio.sleep(REQUEST_SECONDS)

    async def _receive(self, socket: WebSocket) -> None:
        while True:
            message = await socket.receive(within_seconds=RECEIVE_SECONDS)
            self._stream.received(decode_update(message))
            self._telemetry.streamed_metrics.set(self._stream.responses)

    def _served_by(self, client: AdapterClient) -> Callable[[str], bool]:
        def serves(path: str) -> bool:
            _, _, group, version, *_ = f"{path}////".split("/", 4)
            return self._adapter.reader(group, version) is client

        return serves
