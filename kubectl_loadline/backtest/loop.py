"""One autoscaler through the decisions of the running scaler: `plan`, `decide` and `settle`, with time as an argument."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from kubectl_loadline.backtest.pods import SimulatedPods
from scaler.algorithm.decide import decide
from scaler.algorithm.decision import NotNeeded, Rescaled
from scaler.algorithm.derivation import Derivation
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleView, TargetPods
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import Reading
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import Autoscaler, MetricSpec
from scaler.api.schedules import FoundCalendar
from scaler.extensions import inputs_of

Readings = Callable[[MetricSpec, float], Reading]
"""What the metrics APIs return for a metric at a time."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """One decision: the replicas that it requested, how many were ready when it was made, and what is remembered."""

    unix_seconds: int
    requested: int
    ready: int
    derivation: Derivation
    memory: Memory


def decisions(
    autoscaler: Autoscaler,
    settings: Settings,
    pods: SimulatedPods,
    readings: Readings,
    times: Iterable[int],
    calendars: tuple[FoundCalendar, ...] = (),
) -> Iterator[Decided]:
    """One decision at each of the times, which ascend. The pods follow the decisions."""
    memory = Memory()
    for now in times:
        pods.advance(now)
        observed = Observed(
            autoscaler=autoscaler,
            scale=ScaleView(
                spec_replicas=pods.replicas, status_replicas=pods.replicas, selector="app=web"
            ),
            inputs=inputs_of(calendars=calendars),
        )
        planned = plan(observed, memory, settings, float(now))
        if isinstance(planned, Ask):
            found = [readings(metric, float(now)) for metric in planned.metrics]
            planned = decide(planned, TargetPods(pods=pods.all()), found, float(now))
        outcome = settle(planned, Rescaled() if planned.rescale else NotNeeded(), float(now))
        assert isinstance(outcome.memory, Memory)  # noqa: S101 - it began with one
        memory = outcome.memory
        autoscaler = msgspec.structs.replace(autoscaler, status=outcome.status)
        ready = pods.ready
        if planned.rescale and planned.desired_replicas is not None:
            pods.scale_to(planned.desired_replicas, now)
        yield Decided(
            unix_seconds=now,
            requested=pods.replicas,
            ready=ready,
            derivation=outcome.derivation,
            memory=memory,
        )
