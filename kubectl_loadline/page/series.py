"""What was recorded: the last hours of one autoscaler, and the last hour of those in the table."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from kubectl_loadline.page.chart import (
    Chart,
    Values,
    from_prometheus,
    on_grid,
    without_prometheus,
)
from kubectl_loadline.page.collected import Collected
from kubectl_loadline.page.queries import counts_by_row, current_query, history_query
from kubectl_loadline.status.recorded_replicas import recorded_series, step_for
from kubectl_loadline.status.row import Row
from scaler.api.kinds import WatchedKind
from wire.api.status import Unavailable

POINTS: Final = 600
RETRY_SECONDS: Final = 30.0
HOUR_SECONDS: Final = 3600
HOUR_STEP_SECONDS: Final = 60
HOUR_KEPT_SECONDS: Final = 30.0
"""What was read for a table serves its next refreshes for this long; a refresh is every 10 seconds."""
HOUR_BYTES_MAX: Final = 4 * 2**20


class LastHours(msgspec.Struct, frozen=True, kw_only=True):
    """The current replicas of some autoscalers by their keys, one for each step. `basis` is one sentence."""

    start: float
    step: float = HOUR_STEP_SECONDS
    counts: dict[str, Values]
    basis: str


class History:
    """One connection to Prometheus for as long as the page runs; opened when it is first needed."""

    def __init__(self, session: Session, collected: Collected, *, url: str, adapter: str) -> None:
        self._session = session
        self._collected = collected
        self._url = url
        self._adapter = adapter
        self._stack = contextlib.AsyncExitStack()
        self._opened: str | None = None
        self._problem: str | None = None
        self._failed_at_seconds = 0.0
        self._opening = asyncio.Lock()
        self._hours: dict[str, tuple[float, Values]] = {}

    async def chart(self, kind: WatchedKind, row: Row, body: bytes, hours: float) -> Chart:
        """From Prometheus; else what the page has seen and the object's own status remembers."""
        now = time.time()
        seconds = hours * 3600
        step = step_for(seconds, points=POINTS)
        # Samples of all requests fall on the same times.
        end = now // step * step
        try:
            found = await recorded_series(
                await self._reached(),
                history_query(kind, row.namespace, row.name),
                start=end - seconds,
                end=end,
                step=step,
            )
        except (Unreachable, Unavailable) as error:
            return self._seen(row, body, now - seconds, now, await self._failed(error))
        basis = f"Recorded by Prometheus, one sample per {step:g} s."
        chart = from_prometheus(found, start=end - seconds, end=now, basis=basis)
        if chart is None:
            problem = "Prometheus has no metrics of the scaler for it"
            return self._seen(row, body, now - seconds, now, problem)
        return chart

    async def last_hours(self, rows: Sequence[Row]) -> LastHours:
        """Of the rows of one table, by one query for those that were not just read."""
        now = time.time()
        end = now // HOUR_STEP_SECONDS * HOUR_STEP_SECONDS
        times = [end - HOUR_SECONDS + n * HOUR_STEP_SECONDS for n in range(61)]
        basis = "Current replicas of the last hour, recorded by Prometheus."
        try:
            counts = await self._recorded_hours(rows, times)
        except (Unreachable, Unavailable) as error:
            problem = (await self._failed(error)).rstrip(".")
            basis = f"{self._since()} Before that, they are not known: {problem}."
            counts = {}
        for row in rows:
            if not any(value is not None for value in counts.get(row.key, ())):
                counts[row.key] = on_grid(self._collected.of(row.key), [*times[:-1], now])
        return LastHours(start=times[0], counts=counts, basis=basis)

    async def close(self) -> None:
        """Close the connection."""
        await self._stack.aclose()

    async def _recorded_hours(
        self, rows: Sequence[Row], times: Sequence[float]
    ) -> dict[str, Values]:
        now = time.monotonic()
        self._hours = {
            key: kept for key, kept in self._hours.items() if now - kept[0] < HOUR_KEPT_SECONDS
        }
        missing = [row for row in rows if row.key not in self._hours]
        if missing:
            found = counts_by_row(
                await recorded_series(
                    await self._reached(),
                    current_query(missing),
                    start=times[0],
                    end=times[-1],
                    step=HOUR_STEP_SECONDS,
                    bytes_max=HOUR_BYTES_MAX,
                )
            )
            for row in missing:
                samples = found.get(row.key, {})
                self._hours[row.key] = (now, tuple(samples.get(at) for at in times))
        return {row.key: self._hours[row.key][1] for row in rows}

    def _seen(self, row: Row, body: bytes, start: float, end: float, problem: str) -> Chart:
        basis = (
            f"{self._since()} The demand is from the recommendations in the status. "
            f"The history before that is not available: {problem.rstrip('.')}."
        )
        seen = self._collected.of(row.key)
        return without_prometheus(body, seen, start=start, end=end, basis=basis)

    def _since(self) -> str:
        opened = time.strftime("%H:%M", time.localtime(self._collected.opened_unix_seconds))
        return f"Current replicas that this page has observed since {opened}."

    async def _failed(self, error: Unreachable | Unavailable) -> str:
        if isinstance(error, Unavailable):
            await self._close(error.message)
            return error.message
        return str(error)

    async def _reached(self) -> str:
        async with self._opening:
            if self._opened:
                return self._opened
            if self._problem and time.monotonic() - self._failed_at_seconds < RETRY_SECONDS:
                raise Unreachable(self._problem)
            try:
                self._opened = await self._stack.enter_async_context(
                    prometheus_url(self._session, url=self._url, adapter=self._adapter)
                )
            except (Unreachable, Unavailable) as error:
                await self._close(str(error))
                raise Unreachable(str(error)) from error
            return self._opened

    async def _close(self, problem: str) -> None:
        self._opened, self._problem = None, problem
        self._failed_at_seconds = time.monotonic()
        await self._stack.aclose()
