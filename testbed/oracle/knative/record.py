"""`python -m testbed.oracle.knative.record`: record what Knative's autoscaler decides on random loads, with its own code.

The sums in go.sum are those that knative.dev/serving itself ships.
"""

import random
import sys
from pathlib import Path

import msgspec

from testbed.oracle import recorded

HERE = Path(__file__).parent
VECTORS = "knative.jsonl"
SEED = 20_260_601
CASES = 600


class Step(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the autoscaler reads: the averages of the metric over the long and the short window, and ready pods."""

    at_seconds: float
    stable: float
    panic: float
    ready: int


class PanicCase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One autoscaler over some time; `desired` is what Knative's wants after each step."""

    target: float
    threshold_percent: float
    stable_window_seconds: float
    steps: list[Step]
    desired: list[int] = []


def cases(seed: int, count: int) -> list[PanicCase]:
    """Loads that rise, fall and repeat, read every two seconds, which is Knative's period, or at longer ones."""
    chance = random.Random(seed)  # noqa: S311  it makes cases
    return [_case(chance) for _ in range(count)]


def _case(chance: random.Random) -> PanicCase:
    period = chance.choice((2, 2, 5, 15))
    load, ready, steps = chance.uniform(0, 50), chance.randint(1, 10), []
    for number in range(chance.randint(10, 60)):
        if chance.random() < 0.2:
            load = chance.choice((0.0, load * 3, load / 4, chance.uniform(0, 300)))
        if chance.random() < 0.3:
            ready = chance.choice((0, ready, ready + 3, chance.randint(0, 40)))
        steps.append(
            Step(
                at_seconds=number * period,
                stable=round(load * chance.choice((0.3, 0.8, 1.0)), 2),
                panic=round(load, 2),
                ready=ready,
            )
        )
    return PanicCase(
        target=chance.choice((1.0, 7.0, 10.0)),
        threshold_percent=chance.choice((110, 150, 200, 200, 1000)),
        stable_window_seconds=chance.choice((6, 30, 60)),
        steps=steps,
    )


def main() -> int:
    """Build the program, run the cases, and write the vectors."""
    recorded.write(VECTORS, recorded.answered(HERE, cases(SEED, CASES), list[PanicCase]))
    return 0


def read() -> list[PanicCase]:
    """The vectors."""
    return recorded.read(VECTORS, PanicCase)


if __name__ == "__main__":
    sys.exit(main())
