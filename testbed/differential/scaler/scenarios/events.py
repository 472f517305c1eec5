"""PURE  Event correlation: equal events, similar events, and too many."""

from testbed.differential.scaler.scenario_model import Scenario, Step
from testbed.differential.scaler.scenarios.parts import (
    external,
    of_queue,
    scenario,
    spec,
    state,
    then,
    total,
)

QUEUE = external("queue", total("100"))


def event_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    first = state(spec(QUEUE, most=1000), responses=of_queue("queue", "200"))
    sizes = (200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300)
    failing = state(spec(QUEUE))
    return (
        scenario("events", "equal ones are counted", Step(state=failing, reconciles=4)),
        scenario(
            "events",
            "more than ten similar ones are put together",
            Step(state=first, reconciles=1),
            *(
                Step(state=then(first, responses=of_queue("queue", str(size))), reconciles=1)
                for size in sizes
            ),
        ),
        scenario(
            "events",
            "events of an autoscaler that always fails are limited",
            Step(state=failing, reconciles=15),
        ),
        scenario(
            "events",
            "warnings do not use the budget of normal events",
            Step(state=failing, reconciles=14),
            Step(state=then(failing, responses=of_queue("queue", "200")), reconciles=2),
        ),
    )
