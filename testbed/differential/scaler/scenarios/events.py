"""PURE  How events add up: equal ones, similar ones, and too many."""

from testbed.differential.scaler.scenarios.building import (
    external,
    of_queue,
    scenario,
    situation,
    spec,
    then,
    total,
)
from testbed.differential.scaler.situation import Scenario, Step

QUEUE = external("queue", total("100"))


def event_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    first = situation(spec(QUEUE, most=1000), answers=of_queue("queue", "200"))
    sizes = (200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300)
    failing = situation(spec(QUEUE))
    return (
        scenario("events", "equal ones are counted", Step(situation=failing, looks=4)),
        scenario(
            "events",
            "more than ten similar ones are put together",
            Step(situation=first, looks=1),
            *(
                Step(situation=then(first, answers=of_queue("queue", str(size))), looks=1)
                for size in sizes
            ),
        ),
        scenario(
            "events",
            "an autoscaler that always fails goes silent",
            Step(situation=failing, looks=15),
        ),
        scenario(
            "events",
            "warnings do not use up what normal ones may",
            Step(situation=failing, looks=14),
            Step(situation=then(failing, answers=of_queue("queue", "200")), looks=2),
        ),
    )
