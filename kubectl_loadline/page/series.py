"""The last hours of an autoscaler as two series: the replicas that there were, and those that were desired."""

import asyncio
import contextlib
import time

import msgspec

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from kubectl_loadline.status.recorded_replicas import (
    CURRENT,
    DESIRED,
    Series,
    recorded,
    replicas_query,
    step_for,
)
from kubectl_loadline.status.row import Row
from scaler.api.kinds import WatchedKind
from scaler.cluster.status import stored_memory
from wire.api.status import Unavailable

POINTS = 600
RETRY_SECONDS = 30.0


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """`times` in Unix seconds; a count is None where it is not known. `basis` is one sentence."""

    times: tuple[float, ...] = ()
    replicas: tuple[float | None, ...] = ()
    desired: tuple[float | None, ...] = ()
    basis: str = ""


class PictureSource:
    """One connection to Prometheus for as long as the page runs; opened when it is first needed."""

    def __init__(self, session: Session, *, url: str, adapter: str) -> None:
        self._session = session
        self._url = url
        self._adapter = adapter
        self._stack = contextlib.AsyncExitStack()
        self._opened: str | None = None
        self._problem: str | None = None
        self._failed_at_seconds = 0.0
        self._opening = asyncio.Lock()

    async def picture(self, kind: WatchedKind, row: Row, body: bytes, hours: float) -> Picture:
        """From Prometheus; else what the object's own status remembers."""
        end = time.time()
        seconds = hours * 3600
        step = step_for(seconds, points=POINTS)
        # Samples of all requests fall on the same times.
        end -= end % step
        try:
            url = await self._reached()
            replicas, desired = await asyncio.gather(
                *(
                    recorded(
                        url,
                        replicas_query(kind, which, row.namespace, row.name),
                        start=end - seconds,
                        end=end,
                        step=step,
                    )
                    for which in (CURRENT, DESIRED)
                )
            )
        except Unreachable as error:
            return remembered(body, row, str(error))
        except Unavailable as error:
            await self._close(error.message)
            return remembered(body, row, error.message)
        if not replicas and not desired:
            return remembered(body, row, "Prometheus has no metrics of the scaler for it")
        return joined(replicas, desired, f"Recorded by Prometheus, one sample per {step:g} s.")

    async def close(self) -> None:
        """Close the connection."""
        await self._stack.aclose()

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


def joined(replicas: Series, desired: Series, basis: str) -> Picture:
    """Both series on one time axis."""
    times = tuple(sorted({*replicas, *desired}))
    return Picture(
        times=times,
        replicas=tuple(replicas.get(at) for at in times),
        desired=tuple(desired.get(at) for at in times),
        basis=basis,
    )


def remembered(body: bytes, row: Row, problem: str) -> Picture:
    """The recommendations in the status of a LoadAutoscaler, before windows and bounds; `problem` says why not more."""
    steps = stored_memory(body).history.recommendations or ()
    desired: Series = {}
    for step in steps:
        desired[step.since_unix_seconds] = float(step.replicas)
        desired[step.until_unix_seconds] = float(step.replicas)
    replicas = {max(desired): float(row.current)} if desired and row.current is not None else {}
    source = (
        "The recommendations in its status, before windows and bounds"
        if desired
        else "Its status holds no recommendations"
    )
    return joined(
        replicas, desired, f"{source}. The history before that is not available: {problem}."
    )
