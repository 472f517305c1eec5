"""Runs the reconciles of a work queue when they are due, a limited number at a time."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

from scaler.cluster.telemetry import Telemetry
from scaler.cluster.work import Work
from scaler.control.burst import Burst, wait_seconds_max
from scaler.control.workqueue import WORK_SHARE_MAX, WorkQueue
from wire.process.crashes import Crashes

# A reconcile needs milliseconds of work. One that takes longer than this waits for a response, and
# must not keep a worker from the others: a hanging metrics API or webhook delays only its own objects.
# While kube-apiserver itself is slow, the worker is kept: more reconciles would only make its requests wait longer.
WORKER_SECONDS_MAX = 0.1
# How long reconciles in progress may take to finish when the controller stops.
DRAIN_SECONDS = 3.0

# How long reconciles that need no request may follow each other before everything else gets its turn.
SLICE_SECONDS = 0.005

# A wake-up takes longer than a reconcile that changes nothing. So what becomes due within this time begins together. With
# 6,000 autoscalers and a period of 15 s, the scaler needs a third less CPU time than with 5 ms, and a reconcile begins at
# most this much later.
TOGETHER_SECONDS = 0.02

log = logging.getLogger(__name__)

Repeat = Callable[[str], bool]
"""Reconcile the autoscaler of this key, if that changes nothing and needs no request; False if it may."""
Reconcile = Callable[[str], Coroutine[Any, Any, bool]]
"""Reconcile the autoscaler of this key (`namespace/name`); False when it no longer exists."""


class Controller:
    """Starts reconciles when they are due; a failure of one does not affect the others."""

    def __init__(
        self,
        queue: WorkQueue,
        reconcile: Reconcile,
        telemetry: Telemetry,
        *,
        repeat: Repeat = lambda _: False,
        has_failed: Callable[[str], bool] = lambda _: False,
        due_again: Callable[[str], float] = lambda _: math.inf,
        is_overloaded: Callable[[], bool] = lambda: False,
        concurrent: int,
        drain_seconds: float = DRAIN_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`has_failed`: whether the last reconcile of this key failed in a way that may be over soon. `due_again`: when it is due
        before its regular reconcile, by the monotonic clock; infinite if it is not.

        `concurrent`: how many reconciles may run at once, not counting those that wait for a response.
        Those are counted too while `is_overloaded`: kube-apiserver has many requests to respond to.
        """
        self._queue = queue
        self._reconcile = reconcile
        self._repeat = repeat
        self._has_failed = has_failed
        self._due_again = due_again
        self._is_overloaded = is_overloaded
        self._telemetry = telemetry
        self._drain_seconds = drain_seconds
        self._monotonic = monotonic
        self._workers = asyncio.Semaphore(concurrent)
        # Apart from those of reconciles, which would otherwise wait behind all statuses of a burst.
        self._status_workers = asyncio.Semaphore(concurrent)
        self._held: dict[str, _Worker] = {}
        self._burst = Burst(monotonic)
        self._running: dict[asyncio.Task[None], str] = {}
        self._changed = asyncio.Event()
        self.crashes = Crashes(telemetry.crashes_total.inc)

    def enqueue(
        self,
        key: str,
        uid: str,
        *,
        period_seconds: float | None = None,
        within_seconds: float = math.inf,
    ) -> None:
        """An autoscaler was added or changed: make sure that it is reconciled once per period.

        `period_seconds` is its own, None for that of the queue. A new one is reconciled `within_seconds` for the first time.
        """
        self._queue.add(
            key,
            uid,
            self._monotonic(),
            period_seconds=period_seconds,
            within_seconds=within_seconds,
        )
        self._changed.set()

    def reconcile_at_once(self, key: str) -> None:
        """Reconcile it now, or again if it is being reconciled; the end of its period stays the same."""
        self._queue.make_due(key, self._monotonic())
        self._changed.set()

    def bring_forward(self, key: str, to_seconds: float = -math.inf) -> None:
        """Reconcile it before the end of its period, at most once a second: now, or at this time of the monotonic clock."""
        if self._queue.bring_forward(key, max(to_seconds, self._monotonic())):
            self._telemetry.brought_forward_total.inc()
            self._changed.set()

    def is_brought_forward(self, key: str) -> bool:
        """Whether it is being reconciled only because it was brought forward."""
        return self._queue.is_brought_forward(key)

    async def scales_first(self, key: str) -> None:
        """The reconcile of this key has written a scale: before it goes on, the others of the same burst write theirs.

        It keeps no worker meanwhile. If it is to end soon, or its period is short, it goes on sooner.
        """
        held, period_seconds = self._held.get(key), self._queue.period_seconds(key)
        if held is None or period_seconds is None:
            return
        held.release()
        await self._burst.over(wait_seconds_max(period_seconds))
        await self._status_workers.acquire()
        self._hold(key, self._status_workers)

    async def run(self) -> None:
        """Run until cancelled; reconciles in progress then get `drain_seconds` to finish.

        None of them is running any more when this returns.
        """
        try:
            slice_ends_seconds = self._monotonic() + SLICE_SECONDS
            while True:
                if self._monotonic() > slice_ends_seconds:
                    await asyncio.sleep(0)
                    slice_ends_seconds = self._monotonic() + SLICE_SECONDS
                key, due_seconds = await self._next()
                self._observe_delay(due_seconds)
                if self._repeats(key):
                    continue
                task = asyncio.create_task(self._process(key), name=f"reconcile {key}")
                self._running[task] = key
                task.add_done_callback(self._running.pop)
        finally:
            await self.stop(lambda _: True)

    async def stop(self, includes: Callable[[str], bool]) -> None:
        """Do not reconcile these autoscalers any more; reconciles in progress get `drain_seconds` to finish.

        None of them is running any more when this returns.
        """
        self._queue.remove(includes)
        self._burst.hurry()
        running = {task for task, key in self._running.items() if includes(key)}
        if running:
            _, unfinished = await asyncio.wait(running, timeout=self._drain_seconds)
            for task in unfinished:
                task.cancel()
            if unfinished:
                await asyncio.wait(unfinished)
        # What a change has queued again meanwhile.
        self._queue.remove(includes)
        self.crashes.forget(includes)

    def _observe_delay(self, due_seconds: float) -> None:
        delay_seconds = max(0.0, self._monotonic() - due_seconds)
        self._telemetry.reconcile_delay_seconds.observe(delay_seconds)

    def _repeats(self, key: str) -> bool:
        """Whether the reconcile is over already. It needs no task then, which would cost more than itself."""
        work, began_seconds = Work(self._monotonic), self._monotonic()
        try:
            if not self._repeat(key):
                return False
        except Exception as error:
            # The reconcile is the one without this shortcut.
            self.crashes.note("repetition of the reconcile", key, error)
            return False
        self.crashes.ended("repetition of the reconcile", key)
        work.add_step(began_seconds)
        self._done(key, requeue=True, work_seconds=work.seconds)
        self._workers.release()
        return True

    async def _process(self, key: str) -> None:
        requeue = True
        work = Work(self._monotonic)
        self._hold(key, self._workers)
        try:
            requeue = await work.of(self._reconcile(key))
        except Exception as error:
            self.crashes.note("reconcile", key, error)
        else:
            self.crashes.ended("reconcile", key)
            if not requeue:
                self.crashes.forget(key.__eq__)
        finally:
            self._done(key, requeue=requeue, work_seconds=work.seconds)
            self._held.pop(key).release()
            self._changed.set()

    def _done(self, key: str, *, requeue: bool, work_seconds: float = 0.0) -> None:
        is_retried = requeue and self._has_failed(key)
        self._queue.done(
            key,
            self._monotonic(),
            requeue=requeue,
            is_retried=is_retried,
            work_seconds=work_seconds,
        )
        self._queue.bring_forward(key, self._due_again(key))
        period_seconds = self._queue.period_seconds(key)
        if period_seconds is not None and work_seconds > WORK_SHARE_MAX * period_seconds:
            log.info(
                "%s: its reconcile has occupied the event loop for %.2f s, so the next ones may be further apart than its"
                " period of %g s: give it fewer metrics, or a longer period",
                key,
                work_seconds,
                period_seconds,
            )

    def _hold(self, key: str, workers: asyncio.Semaphore) -> None:
        """Its reconcile has one of these workers, until it ends or waits for a response."""
        worker = self._held[key] = _Worker(workers)
        worker.release_later(unless=self._is_overloaded)

    async def _next(self) -> tuple[str, float]:
        """The next key that is due, once a worker is free for it."""
        await self._workers.acquire()
        try:
            while (item := self._queue.get(self._monotonic())) is None:
                await self._wait_for_work()
        except asyncio.CancelledError:
            self._workers.release()
            raise
        return item

    async def _wait_for_work(self) -> None:
        """Until keys are due or the queue changes."""
        self._changed.clear()
        due_seconds, timer = self._queue.next_due_seconds, None
        if due_seconds is not None:
            wait_seconds = max(TOGETHER_SECONDS, due_seconds - self._monotonic())
            timer = asyncio.get_running_loop().call_later(wait_seconds, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            if timer is not None:
                timer.cancel()


class _Worker:
    """One of the limited number of workers; released once, by whichever comes first."""

    def __init__(self, workers: asyncio.Semaphore) -> None:
        self._workers = workers
        self._timer: asyncio.TimerHandle | None = None
        self._is_held = True

    def release_later(self, unless: Callable[[], bool]) -> None:
        """Let the next reconcile start after `WORKER_SECONDS_MAX`, or as soon after as `unless` is false."""

        def release() -> None:
            if unless():
                self.release_later(unless)
            else:
                self.release()

        self._timer = asyncio.get_running_loop().call_later(WORKER_SECONDS_MAX, release)

    def release(self) -> None:
        """Let the next reconcile start."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_held:
            self._is_held = False
            self._workers.release()
