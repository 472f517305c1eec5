"""One autoscaler through the decisions of the running scaler: `plan`, `decide` and `settle`, with time as an argument."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from scaler.backtest.pods import SimulatedPods
from scaler.decide import decide
from scaler.model.autoscaler import Autoscaler, MetricSpec
from scaler.model.decision import Ask, NotNeeded, Rescaled
from scaler.model.derivation import Derivation
from scaler.model.memory import Memory
from scaler.model.observed import Observed, ScaleView, TargetPods
from scaler.model.readings import Reading
from scaler.model.schedules import FoundCalendar
from scaler.model.settings import Settings
from scaler.plan.plan import plan
from scaler.settle import settle

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
            calendars=calendars,
        )
        planned = plan(observed, memory, settings, float(now))
        if isinstance(planned, Ask):
            found = [readings(metric, float(now)) for metric in planned.metrics]
            planned = decide(planned, TargetPods(pods=pods.all()), found, float(now))
        outcome = settle(planned, Rescaled() if planned.rescale else NotNeeded(), float(now))
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
