"""Samples that are lost, halves of the pods that are missing, and counters that are reset."""

import random

from tests.simulation.faults import Fault
from tests.simulation.scenario import Scenario


def made_from(rng: random.Random, scenario: Scenario, at: float) -> tuple[Fault, ...]:
    """Of one autoscaler, or of all; `how` is that of `spoiled_responses`."""
    seconds = min(rng.choice((5.0, 20.0, 90.0, 300.0)) * rng.uniform(0.5, 1), scenario.calm_at - at)
    fault = Fault(
        kind="metrics", at=at, seconds=seconds,
        where=rng.choice((*(each.key for each in scenario.autoscalers), "all")),
        how=rng.choice(("gaps", "other half", "reset")), share=rng.choice((0.5, 1.0)),
    )  # fmt: skip
    return (fault,)
