"""PURE  minReplicas and maxReplicas, with and without metrics, and changes of the spec."""

from testbed.differential.scaler.scenario_model import Scenario, Step
from testbed.differential.scaler.scenarios.parts import (
    FREE,
    external,
    of_queue,
    resource,
    scenario,
    spec,
    state,
    then,
    total,
    usage,
    utilization,
)

QUEUE = external("queue", total("100"))
CPU = resource("cpu", utilization(50))
WELL = of_queue("queue", "100")


def _outside() -> list[Scenario]:
    above = state(spec(QUEUE, most=5), replicas=9, responses=WELL)
    below = state(spec(QUEUE, least=4), replicas=2, responses=WELL)
    return [
        scenario("bounds", "more than the maximum", above, then(above, replicas=7)),
        scenario("bounds", "fewer than the minimum", below, then(below, replicas=1)),
        scenario(
            "bounds",
            "more than the maximum by far, with slow policies",
            state(
                spec(
                    QUEUE,
                    most=5,
                    behavior={
                        **FREE,
                        "scaleDown": {**FREE["scaleDown"], "selectPolicy": "Disabled"},
                    },
                ),
                replicas=1000,
                responses=WELL,
            ),
        ),
        scenario(
            "bounds",
            "fewer than the minimum although metrics fail",
            state(spec(QUEUE, least=4), replicas=2),
        ),
        scenario(
            "bounds",
            "more than the maximum without a selector",
            state(spec(QUEUE, most=4), replicas=8, selector=""),
        ),
        scenario(
            "bounds",
            "the maximum is lowered and raised again",
            state(spec(QUEUE, most=10), replicas=8, responses=WELL),
            then(above, spec=spec(QUEUE, most=5)),
            then(above, spec=spec(QUEUE, most=10)),
        ),
        scenario(
            "bounds",
            "the minimum is raised",
            state(spec(QUEUE), replicas=3, responses=WELL),
            then(below, spec=spec(QUEUE, least=6)),
        ),
    ]


def _limited() -> list[Scenario]:
    first = state(spec(QUEUE, least=2, most=5), replicas=3, responses=of_queue("queue", "400"))
    return [
        scenario(
            "bounds",
            "wanted beyond both bounds",
            first,
            then(first, responses=of_queue("queue", "1")),
        ),
        scenario(
            "bounds",
            "one replica is all there may be",
            state(
                spec(QUEUE, least=1, most=1),
                replicas=1,
                all_pods=1,
                responses=of_queue("queue", "400"),
            ),
            then(first, all_pods=1, responses=of_queue("queue", "0")),
        ),
        scenario(
            "bounds",
            "a minimum of one by default",
            state(
                {"maxReplicas": 5, "metrics": [QUEUE], "behavior": FREE},
                responses=of_queue("queue", "1"),
            ),
        ),
        scenario(
            "bounds",
            "cpu by default",
            state({"maxReplicas": 10, "behavior": FREE}, measured=usage("900m", "900m", "900m")),
        ),
        scenario(
            "bounds",
            "an empty list of metrics becomes cpu",
            state({"maxReplicas": 10, "metrics": [], "behavior": FREE}, measured=usage("1", "1")),
        ),
        scenario(
            "bounds",
            "a new target value",
            state(spec(QUEUE), responses=of_queue("queue", "200")),
            then(first, spec=spec(external("queue", total("300")))),
            then(first, spec=spec(CPU), measured=usage("900m", "900m", "900m")),
        ),
    ]


def _zero() -> list[Scenario]:
    off = state(spec(QUEUE), replicas=0, all_pods=0, responses=of_queue("queue", "400"))
    return [
        scenario(
            "bounds", "no replicas, so scaling is disabled", off, then(off, replicas=2, all_pods=2)
        ),
        scenario(
            "bounds",
            "scaled to zero by someone else",
            state(spec(QUEUE), responses=of_queue("queue", "200")),
            then(off, replicas=0),
            then(off, replicas=3),
        ),
        scenario(
            "bounds",
            "no replicas and no selector either",
            state(spec(CPU), replicas=0, all_pods=0, selector=""),
        ),
    ]


def _without_behavior() -> list[Scenario]:
    plain = spec(QUEUE, behavior=None)
    first = state(plain, replicas=3, responses=of_queue("queue", "1000"))
    low = of_queue("queue", "50")
    return [
        scenario(
            "plain",
            "at most twice as many, at least four",
            first,
            then(first, all_pods=6, responses=of_queue("queue", "1000")),
        ),
        scenario(
            "plain",
            "from one to four",
            state(plain, replicas=1, all_pods=1, responses=of_queue("queue", "1000")),
        ),
        scenario(
            "plain",
            "earlier recommendations prevent scaling down",
            state(plain, replicas=6, all_pods=6, responses=WELL),
            then(first, all_pods=6, responses=low),
            then(first, all_pods=6, responses=of_queue("queue", "80")),
        ),
        scenario(
            "plain",
            "earlier recommendations raise replicas that someone else lowered",
            state(plain, replicas=6, all_pods=6, responses=WELL),
            then(first, replicas=2, all_pods=2, responses=WELL),
        ),
        scenario(
            "plain",
            "raising the maximum releases an old recommendation",
            state(
                spec(QUEUE, behavior=None, most=5), replicas=3, responses=of_queue("queue", "300")
            ),
            then(first, responses=WELL, all_pods=5, spec=spec(QUEUE, behavior=None, most=50)),
        ),
        scenario(
            "plain",
            "nothing is remembered while metrics fail",
            state(plain, replicas=6, all_pods=6),
            then(first, all_pods=6, responses=low),
        ),
        scenario(
            "plain",
            "doubling meets the maximum",
            state(spec(QUEUE, behavior=None, most=6), responses=of_queue("queue", "1000")),
        ),
        scenario(
            "plain",
            "behavior is added and removed",
            state(plain, replicas=6, all_pods=6, responses=WELL),
            then(first, all_pods=6, responses=low),
            then(first, all_pods=6, responses=low, spec=spec(QUEUE)),
            Step(state=then(first, all_pods=3, responses=of_queue("queue", "250"), spec=plain)),
        ),
    ]


def bounds_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_outside(), *_limited(), *_zero(), *_without_behavior())
