"""Scenarios in which the real adapter serves the metrics, from a model of Prometheus."""

import random
from collections.abc import Sequence

import msgspec

from tests.simulation.faults import Fault
from tests.simulation.faults import made_from as faults_of
from tests.simulation.scenario import AdapterPlan, Scenario, made_from


def with_adapter(seed: int) -> Scenario:
    """The scenario of a seed whose external and custom metrics are those of the adapter."""
    rng = random.Random(f"adapter scenario {seed}")
    scenario = made_from(seed)
    plan = AdapterPlan(
        scrape_seconds=rng.choice((1.0, 2.0, 5.0)),
        rules=rng.choice(("named", "discovered")),
        path="aggregator",
    )
    autoscalers = tuple(
        msgspec.structs.replace(each, by_adapter=True) for each in scenario.autoscalers
    )
    return msgspec.structs.replace(scenario, adapter=plan, autoscalers=autoscalers)


def faults_with_adapter(scenario: Scenario, theme: Sequence[str] = ()) -> tuple[Fault, ...]:
    """The faults of the seed."""
    return faults_of(scenario, theme)
