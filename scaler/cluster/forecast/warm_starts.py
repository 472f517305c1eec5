"""New forecasts learn from recorded history, one after the other, beside the reconciles.

A reconcile says that a forecast still learns, and a later one finds what it has learned meanwhile; neither waits. The
replay of 15 days takes some seconds of CPU time: it runs in slices of a few milliseconds, with pauses in which the event
loop is free, so that it takes a quarter of the time at most. After a failure, it is tried again with growing pauses.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from prometheus_client import Counter

from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import Policy
from scaler.api.autoscaler import Autoscaler, CrossVersionObjectReference, MetricSpec
from scaler.cluster.forecast.load_query import NoRecordedLoad, per_replica_of, why_not_recorded
from scaler.cluster.forecast.recorded_load import RecordedLoad
from scaler.cluster.telemetry import Telemetry
from scaler.extensions.forecast.foresee import new_forecast
from scaler.extensions.forecast.load_levels import Levels
from scaler.extensions.forecast.rules import ForecastRules
from scaler.extensions.forecast.stage import FORECAST
from scaler.extensions.forecast.state import Forecast, ForecastMemory, WarmStart
from scaler.extensions.forecast.warm_start import (
    RECORDED_MINUTES,
    LoadByMinute,
    difference,
    learned_from_recorded,
    readings_of,
    replayed,
)
from wire.process.backoff import Backoff, BackoffLimits
from wire.process.problem_log import ProblemLog

RETRIES: Final = BackoffLimits(initial_seconds=10.0, max_seconds=3600.0, jitter_ratio=0.2)
# About 12 hours. A restart tries again.
ATTEMPTS_MAX: Final = 20
# One to three milliseconds.
SLICE_MINUTES: Final = 20
# Times the duration of a slice.
PAUSE_FACTOR: Final = 3.0

log = logging.getLogger(__name__)

QueryOf = Callable[[str, MetricSpec, CrossVersionObjectReference], Awaitable[str]]
"""PromQL with the load of a metric of a namespace, for the target of its autoscaler. Raises `NoRecordedLoad`."""


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A forecast that learns, as the last reconcile left it."""

    namespace: str
    metric: MetricSpec
    target: CrossVersionObjectReference
    rules: ForecastRules
    policy: Policy
    levels: Levels


class _Entry:
    """One autoscaler: its newest state, what was found, and when it is tried again."""

    def __init__(self, key: str, wanted: _Wanted) -> None:
        self.wanted = wanted
        self.found: WarmStart | None = None
        self.is_done = False
        self.attempts = 0
        self.due_at_seconds = 0.0
        self.backoff = Backoff(RETRIES)
        self.problem = ProblemLog(
            log,
            failing=f"{key}: the forecast learns without recorded history",
            recovered=f"{key}: the forecast has learned from recorded history",
        )


class WarmStarts:
    """Implements `scaler.control.dependencies.DecisionObserver`. Run `run()` as a task."""

    def __init__(
        self,
        query_of: QueryOf,
        loads: RecordedLoad,
        telemetry: Telemetry,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._query_of = query_of
        self._loads = loads
        self._attempts_total = Counter(
            "loadline_scaler_forecast_warm_starts_total",
            "Attempts to let a new forecast learn from recorded history, with --prometheus-url, by result: learned or failed.",
            ("result",),
            registry=telemetry.registry,
        )
        self._monotonic = monotonic
        self._entries: dict[str, _Entry] = {}
        self._changed = asyncio.Event()

    def found(self, key: str) -> WarmStart | None:
        """What became of the recorded load of this autoscaler; None while nothing is known."""
        entry = self._entries.get(key)
        return None if entry is None else entry.found

    def decided(self, autoscaler: Autoscaler, policy: Policy, memory: Memory) -> None:
        """What a reconcile has left. A forecast that does not learn any more is forgotten."""
        rules: ForecastRules | None = policy.rules.get(FORECAST)
        known: ForecastMemory | None = memory.states.get(FORECAST)
        state, key = None if known is None else known.state, autoscaler.key
        if rules is None or rules.problem or state is None or not state.wants_recorded_load:
            self._entries.pop(key, None)
            return
        metric = next(
            (each for each in autoscaler.spec.metrics or () if each.name == rules.metric), None
        )
        if metric is None or not len(state.levels):
            return
        wanted = _Wanted(
            namespace=autoscaler.metadata.namespace,
            metric=metric,
            target=autoscaler.spec.scale_target_ref,
            rules=rules,
            policy=policy,
            levels=state.levels,
        )
        entry = self._entries.get(key)
        if entry is None or not _same_load(entry.wanted, wanted):
            self._entries[key] = self._new(key, wanted)
            self._changed.set()
        else:
            entry.wanted = wanted

    def forget(self, key: str) -> None:
        """The autoscaler was deleted, or another process reconciles it."""
        self._entries.pop(key, None)

    async def run(self) -> None:
        """Learn until cancelled."""
        while True:
            self._changed.clear()
            key, pause_seconds = self._next()
            if key and pause_seconds <= 0:
                await self._attempt(key, self._entries[key])
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_seconds if key else None):
                    await self._changed.wait()

    def _new(self, key: str, wanted: _Wanted) -> _Entry:
        entry = _Entry(key, wanted)
        entry.due_at_seconds = self._monotonic()
        problem = why_not_recorded(wanted.metric, wanted.target)
        if problem:
            entry.found = WarmStart(problem=problem)
            entry.is_done = True
        return entry

    def _next(self) -> tuple[str, float]:
        """The one that is due first, and in how many seconds; an empty key without any."""
        waiting = [
            (entry.due_at_seconds, key)
            for key, entry in self._entries.items()
            if not entry.is_done and entry.attempts < ATTEMPTS_MAX
        ]
        if not waiting:
            return "", 0.0
        due_at_seconds, key = min(waiting)
        return key, due_at_seconds - self._monotonic()

    async def _attempt(self, key: str, entry: _Entry) -> None:
        problem: str | None = None
        try:
            state = await self._learned(key, entry)
        except NoRecordedLoad as error:
            problem = str(error)
        except Exception as error:
            # A bug here must not stop the scaler.
            log.exception("%s: learning from recorded history failed", key)
            problem = f"learning from recorded history failed: {error!r}"
        if self._entries.get(key) is not entry:
            return
        entry.problem.set(problem)
        self._attempts_total.labels("failed" if problem else "learned").inc()
        if not problem:
            per_replica = per_replica_of(entry.wanted.metric)
            entry.found = WarmStart(state=state, per_replica=per_replica)
            entry.is_done = True
            return
        entry.found = WarmStart(problem=f"recorded history is not used: {problem}")
        entry.attempts += 1
        entry.due_at_seconds = self._monotonic() + entry.backoff.next_seconds()

    async def _learned(self, key: str, entry: _Entry) -> Forecast:
        """From the recorded minutes, and after them those that were read. Raises `NoRecordedLoad`."""
        wanted = entry.wanted
        promql = await self._query_of(wanted.namespace, wanted.metric, wanted.target)
        last = wanted.levels.end_minute
        recorded = await self._loads.by_minute(promql, last - RECORDED_MINUTES + 1, last)
        if not recorded:
            raise NoRecordedLoad(f"Prometheus has no samples of {promql} in the last 15 days")
        read = readings_of(wanted.levels)
        problem = difference(recorded, read)
        if problem:
            raise NoRecordedLoad(problem)
        minutes = {**read, **recorded}
        state = await self._replayed(key, entry, new_forecast(wanted.rules), minutes)
        state = learned_from_recorded(state, len(recorded))
        # What was read meanwhile, in slices too.
        later = readings_of(entry.wanted.levels, after=state.levels.end_minute)
        return await self._replayed(key, entry, state, later)

    async def _replayed(
        self, key: str, entry: _Entry, state: Forecast, minutes: LoadByMinute
    ) -> Forecast:
        wanted, per_replica = entry.wanted, per_replica_of(entry.wanted.metric)
        ordered = sorted(minutes)
        for place in range(0, len(ordered), SLICE_MINUTES):
            started_seconds = self._monotonic()
            some = {minute: minutes[minute] for minute in ordered[place : place + SLICE_MINUTES]}
            state = replayed(state, some, wanted.rules, wanted.policy, per_replica)
            await asyncio.sleep(PAUSE_FACTOR * (self._monotonic() - started_seconds))
            if self._entries.get(key) is not entry:
                raise NoRecordedLoad("the forecast does not need it any more")
        return state


def _same_load(one: _Wanted, other: _Wanted) -> bool:
    """Whether the same is learned in the same unit and judged by the same target."""
    return (one.rules.identity, one.target, per_replica_of(one.metric)) == (
        other.rules.identity,
        other.target,
        per_replica_of(other.metric),
    )
