"""Which vectors of an older version tell it apart from the newest one."""

import math
from collections.abc import Sequence

import msgspec

from testbed.oracle.scaler.cases import StepAnswer, Vector
from testbed.oracle.scaler.replay import comparable, controllers

CASES_MAX = 300
"""More would differ in the same few ways, and would be too many to read."""
GENERATIONS_CASES = 20
"""Almost every reconcile differs in `observedGeneration`; this many are kept of those that differ in nothing else."""


def distinguishing(vectors: Sequence[Vector], newest: Sequence[Vector]) -> list[Vector]:
    """Vectors of an older version that the newest answers differently, at even distances, and all that it does not have.

    What the newest does not have comes last in `vectors`.
    """
    found: list[Vector] = []
    only_generations: list[Vector] = []
    for vector, other in zip(vectors, newest, strict=False):
        if _without_generations(vector) != _without_generations(other):
            found.append(vector)
        elif _generations(vector) != _generations(other):
            only_generations.append(vector)
    distance = max(1, -(-len(found) // CASES_MAX))
    print(f"{len(found)} cases differ, and {len(only_generations)} in observedGeneration only")
    return [
        *found[::distance],
        *only_generations[:GENERATIONS_CASES],
        *vectors[len(newest) :],
    ]


def _generations(vector: Vector) -> list[int | None]:
    return [step.status.observed_generation for step in vector.steps]


def _without_generations(vector: Vector) -> tuple[object, ...]:
    """The answers whatever the generations; whether a status is written follows from them."""
    steps = (_comparable(each, controllers(vector.case)) for each in vector.steps)
    return (*vector.metrics, *steps)


def _comparable(answer: StepAnswer, names: frozenset[str]) -> StepAnswer:
    found = comparable(answer, -math.inf, names)
    return msgspec.structs.replace(
        found,
        status=msgspec.structs.replace(found.status, observed_generation=None),
        log=tuple(each for each in found.log if each != ("status",)),
    )
