"""Two API servers behind a balancer, one of which has watch caches that are behind."""

import random
from typing import TYPE_CHECKING

from tests.simulation.faults import Fault
from tests.simulation.scenario import Scenario

if TYPE_CHECKING:
    from tests.simulation.world import World


def made_from(rng: random.Random, scenario: Scenario, at: float) -> tuple[Fault, ...]:
    """`amount`: by how many seconds one of the API servers is behind."""
    seconds = min(rng.choice((5.0, 20.0, 90.0, 300.0)) * rng.uniform(0.5, 1), scenario.calm_at - at)
    amount = rng.choice((1.0, 5.0, 15.0))
    return (Fault(kind="balancer", at=at, seconds=seconds, amount=amount),)


def begin(fault: Fault, world: "World") -> None:
    """Connections are made again, each to one of the servers."""
    world.server.lags_seconds = (0.0, fault.amount)
    world.cut_all()
    world.timeline.after(fault.seconds, _end, world)


def _end(world: "World") -> None:
    world.server.lags_seconds = ()
    world.cut_all()
