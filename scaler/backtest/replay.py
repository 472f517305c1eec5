"""Replays a load through the decisions of the running scaler: `plan`, `decide` and `settle`, minute by minute.

The load does not depend on the replicas. A pod is ready `start_up_seconds` after it was requested. The scaler sees each
value `delay_seconds` late, and never one of the future.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from scaler.backtest.trace import STEP_SECONDS, Trace
from scaler.decide import decide
from scaler.model.autoscaler import Autoscaler, MetricSpec
from scaler.model.decision import Ask, NotNeeded, Rescaled
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory
from scaler.model.observed import Observed, ScaleView, TargetPods
from scaler.model.readings import ExternalValues, MetricFailed, Reading
from scaler.model.settings import Settings
from scaler.plan.plan import plan
from scaler.settle import settle

NO_SAMPLE = MetricFailed("no metrics returned from external metrics API")

Readings = Callable[[MetricSpec, float], float | None]
"""The value of a metric as it is seen at a time; None if there is none."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The target, and how late its metric is. `replicas` is the count at the start."""

    start_up_seconds: int
    delay_seconds: int = 60
    replicas: int = 1


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One minute: the load of the target, its replicas as requested, those of them that were ready, and the decision."""

    unix_seconds: int
    load: float | None
    requested: int
    ready: int
    derivation: Derivation


def replay(
    autoscaler: Autoscaler,
    settings: Settings,
    trace: Trace,
    setup: Setup,
    *,
    others: Mapping[str, Readings] | None = None,
) -> Iterator[Step]:
    """All minutes of the trace. Every metric must be External with an average value.

    `others` are the values of metrics by name; every other metric is the load of the trace.
    """
    state = _State(autoscaler, settings, trace, setup, others or {})
    last = trace.start_unix_seconds + STEP_SECONDS * len(trace.loads)
    return (state.step(now) for now in range(trace.start_unix_seconds, last, STEP_SECONDS))


class _State:
    def __init__(
        self,
        autoscaler: Autoscaler,
        settings: Settings,
        trace: Trace,
        setup: Setup,
        others: Mapping[str, Readings],
    ) -> None:
        self._autoscaler = autoscaler
        self._settings = settings
        self._trace = trace
        self._setup = setup
        self._others = others
        self._memory = Memory()
        self._replicas = setup.replicas
        # Of every minute that a pod needs to become ready: those that were requested before are ready.
        self._recent = [setup.replicas] * max(1, setup.start_up_seconds // STEP_SECONDS)

    def step(self, now: int) -> Step:
        observed = Observed(
            autoscaler=self._autoscaler,
            scale=ScaleView(
                spec_replicas=self._replicas, status_replicas=self._replicas, selector="app=web"
            ),
        )
        planned = plan(observed, self._memory, self._settings, float(now))
        if isinstance(planned, Ask):
            readings = [self._reading(metric, now) for metric in planned.metrics]
            planned = decide(planned, TargetPods(pods=()), readings, float(now))
        outcome = settle(planned, Rescaled() if planned.rescale else NotNeeded(), float(now))
        self._memory = outcome.memory
        self._autoscaler = msgspec.structs.replace(self._autoscaler, status=outcome.status)
        ready = min(self._replicas, *self._recent)
        if planned.rescale and planned.desired_replicas is not None:
            self._replicas = planned.desired_replicas
        self._recent = [*self._recent[1:], self._replicas]
        return Step(
            unix_seconds=now,
            load=self._trace.at(now),
            requested=self._replicas,
            ready=ready,
            derivation=outcome.derivation,
        )

    def _reading(self, metric: MetricSpec, now: int) -> Reading:
        other = self._others.get(metric.name)
        if other is not None:
            value = other(metric, now - self._setup.delay_seconds)
        else:
            value = self._trace.at(now - self._setup.delay_seconds)
        if value is None:
            return NO_SAMPLE
        return ExternalValues((round(value * 1000),))
