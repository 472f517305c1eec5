"""What goes wrong around the adapter in a simulation: its Prometheus, its process, its configuration, and the rights of a user."""

import random
from collections.abc import Callable

from tests.simulation.adapter_process import AdapterProcess
from tests.simulation.adapter_rules import INVALID
from tests.simulation.faults import Fault, lasting
from tests.simulation.metrics_pipeline import MetricsPipeline
from tests.simulation.prometheus_model import BACKEND_FAULTS, BackendFault
from tests.simulation.rights import VISITOR
from tests.simulation.scenario import Scenario
from tests.simulation.timeline import Timeline

ADAPTER_FAULTS = ("kill", "terminate", "hangs", "refused")


def begin(fault: Fault, pipeline: MetricsPipeline, timeline: Timeline) -> None:
    """The fault begins now; it ends by itself."""
    _BEGIN[fault.kind](fault, pipeline, timeline)


def _begin_prometheus(fault: Fault, pipeline: MetricsPipeline, timeline: Timeline) -> None:
    faults = pipeline.prometheus.faults
    wrong = BackendFault(how=fault.how, share=fault.share, seconds=fault.amount)
    faults.append(wrong)
    timeline.after(fault.seconds, faults.remove, wrong)


def _begin_adapter(fault: Fault, pipeline: MetricsPipeline, timeline: Timeline) -> None:
    if fault.how == "kill":
        pipeline.adapter.kill(fault.seconds)
    elif fault.how == "terminate":
        pipeline.adapter.terminate()
    else:
        pipeline.disconnect(fault.how)
        timeline.after(fault.seconds, pipeline.reconnect)


def _begin_rules(fault: Fault, pipeline: MetricsPipeline, timeline: Timeline) -> None:
    adapter = pipeline.adapter
    before = adapter.rules
    adapter.configure(fault.how)
    if fault.how == INVALID and before != INVALID:
        timeline.after(fault.seconds, _correct, adapter, before)


def _correct(adapter: AdapterProcess, rules: str) -> None:
    """The file is that of before, unless it has been replaced with a valid one."""
    if adapter.rules == INVALID:
        adapter.configure(rules)


def _begin_rights(fault: Fault, pipeline: MetricsPipeline, _timeline: Timeline) -> None:
    pipeline.rights.grant(VISITOR, frozenset(filter(None, (fault.where,))))


_BEGIN: dict[str, Callable[[Fault, MetricsPipeline, Timeline], None]] = {
    "prometheus": _begin_prometheus, "adapter": _begin_adapter, "rules": _begin_rules, "rights": _begin_rights,
}  # fmt: skip
KINDS = tuple(_BEGIN)


def made_from(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    """One of these faults at this moment."""
    kind = rng.choice(("prometheus", "prometheus", "adapter", "rules", "rights"))
    seconds = lasting(rng, scenario, at)
    if kind == "prometheus":
        return Fault(
            kind=kind, at=at, seconds=seconds, how=rng.choice(BACKEND_FAULTS),
            share=rng.choice((0.3, 1.0, 1.0)), amount=rng.choice((1.0, 5.0, 20.0)),
        )  # fmt: skip
    if kind == "adapter":
        return Fault(kind=kind, at=at, seconds=seconds, how=rng.choice(ADAPTER_FAULTS))
    if kind == "rules":
        how = rng.choice(("named", "discovered", INVALID))
        return Fault(kind=kind, at=at, how=how, seconds=seconds if how == INVALID else 0.0)
    namespaces = sorted({each.namespace for each in scenario.autoscalers})
    return Fault(kind=kind, at=at, where=rng.choice((*namespaces, "")))
