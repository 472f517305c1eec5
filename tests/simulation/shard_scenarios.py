"""Scenarios in which three replicas share the autoscalers of several namespaces."""

import random

import msgspec

from tests.simulation.scenario import Scenario, autoscaler, made_from, settling_seconds

# In different shards, except for the last two, which differ in their last character.
NAMESPACES = ("shop", "bank", "mail", "search", "team-1", "team-2")


def with_shards(seed: int) -> Scenario:
    """The scenario of a seed with more namespaces and one more replica."""
    rng = random.Random(f"shards {seed}")
    scenario = made_from(seed)
    autoscalers = tuple(
        msgspec.structs.replace(
            autoscaler(rng, number, scenario.calm_at), namespace=rng.choice(NAMESPACES)
        )
        for number in range(rng.choice((3, 4, 6)))
    )
    settling = max(settling_seconds(each, scenario.window) for each in autoscalers)
    return msgspec.structs.replace(
        scenario,
        is_sharded=True,
        replicas=(*scenario.replicas, "scaler-c"),
        autoscalers=autoscalers,
        end=scenario.calm_at + 150.0 + settling + 10 * scenario.period,
    )
