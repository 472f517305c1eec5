"""Scenarios in which the real adapter serves the metrics, from a model of Prometheus."""

import random
from collections.abc import Sequence

import msgspec

from tests.simulation import adapter_faults
from tests.simulation.faults import FIRST_FAULT_SECONDS, Fault
from tests.simulation.faults import made_from as faults_of
from tests.simulation.metrics_apis import CUSTOM, EXTERNAL
from tests.simulation.scenario import (
    AGGREGATOR,
    DIRECT,
    STREAMED,
    AdapterPlan,
    AutoscalerPlan,
    Scenario,
    autoscaler,
    made_from,
    settling_seconds,
)

# In periods of the scaler: long enough to see what waits for it, and short enough that the end of a run is as without it.
LONG_PERIOD_PERIODS = 5
SERVED = ((EXTERNAL,), (EXTERNAL,), (CUSTOM,), (EXTERNAL, CUSTOM))


def with_adapter(seed: int) -> Scenario:
    """The scenario of a seed with a few autoscalers more, whose metrics are those of the adapter."""
    rng = random.Random(f"adapter scenario {seed}")
    scenario = made_from(seed)
    plan = AdapterPlan(
        scrape_seconds=rng.choice((1.0, 2.0, 5.0)),
        rules=rng.choice(("named", "discovered")),
        path=random.Random(f"adapter path {seed}").choice((AGGREGATOR, DIRECT)),
    )
    count = len(scenario.autoscalers) + rng.choice((0, 1, 2))
    autoscalers = tuple(_autoscaler(rng, number, scenario) for number in range(count))
    settling = max(settling_seconds(each, scenario.window) for each in autoscalers)
    return msgspec.structs.replace(
        scenario, adapter=plan, autoscalers=autoscalers,
        end=scenario.calm_at + 150.0 + settling + 10 * scenario.period,
    )  # fmt: skip


def with_streams(seed: int) -> Scenario:
    """The same, with metrics that the adapter streams; of those that follow a queue, a third has a long period of its own."""
    rng = random.Random(f"long periods {seed}")
    scenario = with_adapter(seed)
    plan = msgspec.structs.replace(scenario.adapter, path=STREAMED) if scenario.adapter else None
    autoscalers = tuple(
        _with_a_long_period(each, scenario)
        if each.follows_a_queue and rng.random() < 1 / 3
        else each
        for each in scenario.autoscalers
    )
    return msgspec.structs.replace(scenario, adapter=plan, autoscalers=autoscalers)


def _with_a_long_period(plan: AutoscalerPlan, scenario: Scenario) -> AutoscalerPlan:
    seconds = int(LONG_PERIOD_PERIODS * scenario.period)
    fields = msgspec.structs.replace(plan.fields, sync_period_seconds=seconds)
    return msgspec.structs.replace(plan, fields=fields)


def faults_with_adapter(scenario: Scenario, theme: Sequence[str] = ()) -> tuple[Fault, ...]:
    """The faults of the seed, and up to four around the adapter."""
    rng = random.Random(f"adapter faults {scenario.seed}")
    of_scaler = faults_of(scenario, theme)
    if rng.random() < 0.5:
        of_scaler = ()
    moments = [
        rng.uniform(FIRST_FAULT_SECONDS, scenario.calm_at * 0.9)
        for _ in range(rng.choice((0, 1, 2, 3, 4)))
    ]
    found = [*of_scaler, *(adapter_faults.made_from(rng, scenario, at) for at in moments)]
    return tuple(sorted(found, key=lambda fault: fault.at))


def _autoscaler(rng: random.Random, number: int, scenario: Scenario) -> AutoscalerPlan:
    plan = autoscaler(rng, number, scenario.calm_at)
    groups = plan.groups if number else rng.choice(SERVED)
    to_zero = plan.min_replicas == 0 and EXTERNAL in groups
    return msgspec.structs.replace(
        plan, groups=groups, by_adapter=True, min_replicas=0 if to_zero else max(1, plan.min_replicas),
    )  # fmt: skip
