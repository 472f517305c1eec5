"""PURE  minReplicas and maxReplicas, with and without metrics, and changes of the spec."""

from testbed.differential.scaler.scenarios.building import (
    FREE,
    external,
    of_queue,
    resource,
    scenario,
    situation,
    spec,
    then,
    total,
    usage,
    utilization,
)
from testbed.differential.scaler.situation import Scenario, Step

QUEUE = external("queue", total("100"))
CPU = resource("cpu", utilization(50))
WELL = of_queue("queue", "100")


def _outside() -> list[Scenario]:
    above = situation(spec(QUEUE, most=5), replicas=9, answers=WELL)
    below = situation(spec(QUEUE, least=4), replicas=2, answers=WELL)
    return [
        scenario("bounds", "more than the maximum", above, then(above, replicas=7)),
        scenario("bounds", "fewer than the minimum", below, then(below, replicas=1)),
        scenario(
            "bounds",
            "more than the maximum by far, with slow policies",
            situation(
                spec(
                    QUEUE,
                    most=5,
                    behavior={
                        **FREE,
                        "scaleDown": {**FREE["scaleDown"], "selectPolicy": "Disabled"},
                    },
                ),
                replicas=1000,
                answers=WELL,
            ),
        ),
        scenario(
            "bounds",
            "fewer than the minimum although metrics fail",
            situation(spec(QUEUE, least=4), replicas=2),
        ),
        scenario(
            "bounds",
            "more than the maximum without a selector",
            situation(spec(QUEUE, most=4), replicas=8, selector=""),
        ),
        scenario(
            "bounds",
            "the maximum is lowered and raised again",
            situation(spec(QUEUE, most=10), replicas=8, answers=WELL),
            then(above, spec=spec(QUEUE, most=5)),
            then(above, spec=spec(QUEUE, most=10)),
        ),
        scenario(
            "bounds",
            "the minimum is raised",
            situation(spec(QUEUE), replicas=3, answers=WELL),
            then(below, spec=spec(QUEUE, least=6)),
        ),
    ]


def _limited() -> list[Scenario]:
    first = situation(spec(QUEUE, least=2, most=5), replicas=3, answers=of_queue("queue", "400"))
    return [
        scenario(
            "bounds",
            "wanted beyond both bounds",
            first,
            then(first, answers=of_queue("queue", "1")),
        ),
        scenario(
            "bounds",
            "one replica is all there may be",
            situation(
                spec(QUEUE, least=1, most=1),
                replicas=1,
                all_pods=1,
                answers=of_queue("queue", "400"),
            ),
            then(first, all_pods=1, answers=of_queue("queue", "0")),
        ),
        scenario(
            "bounds",
            "a minimum of one by default",
            situation(
                {"maxReplicas": 5, "metrics": [QUEUE], "behavior": FREE},
                answers=of_queue("queue", "1"),
            ),
        ),
        scenario(
            "bounds",
            "cpu by default",
            situation(
                {"maxReplicas": 10, "behavior": FREE}, measured=usage("900m", "900m", "900m")
            ),
        ),
        scenario(
            "bounds",
            "an empty list of metrics becomes cpu",
            situation(
                {"maxReplicas": 10, "metrics": [], "behavior": FREE}, measured=usage("1", "1")
            ),
        ),
        scenario(
            "bounds",
            "a new target value",
            situation(spec(QUEUE), answers=of_queue("queue", "200")),
            then(first, spec=spec(external("queue", total("300")))),
            then(first, spec=spec(CPU), measured=usage("900m", "900m", "900m")),
        ),
    ]


def _zero() -> list[Scenario]:
    off = situation(spec(QUEUE), replicas=0, all_pods=0, answers=of_queue("queue", "400"))
    return [
        scenario(
            "bounds", "nothing runs, so nothing scales", off, then(off, replicas=2, all_pods=2)
        ),
        scenario(
            "bounds",
            "somebody scales to nothing",
            situation(spec(QUEUE), answers=of_queue("queue", "200")),
            then(off, replicas=0),
            then(off, replicas=3),
        ),
        scenario(
            "bounds",
            "nothing runs and no selector either",
            situation(spec(CPU), replicas=0, all_pods=0, selector=""),
        ),
    ]


def _without_behavior() -> list[Scenario]:
    plain = spec(QUEUE, behavior=None)
    first = situation(plain, replicas=3, answers=of_queue("queue", "1000"))
    low = of_queue("queue", "50")
    return [
        scenario(
            "plain",
            "at most twice as many, at least four",
            first,
            then(first, all_pods=6, answers=of_queue("queue", "1000")),
        ),
        scenario(
            "plain",
            "from one to four",
            situation(plain, replicas=1, all_pods=1, answers=of_queue("queue", "1000")),
        ),
        scenario(
            "plain",
            "low metrics are held up by what was recommended",
            situation(plain, replicas=6, all_pods=6, answers=WELL),
            then(first, all_pods=6, answers=low),
            then(first, all_pods=6, answers=of_queue("queue", "80")),
        ),
        scenario(
            "plain",
            "what was recommended raises what somebody lowered",
            situation(plain, replicas=6, all_pods=6, answers=WELL),
            then(first, replicas=2, all_pods=2, answers=WELL),
        ),
        scenario(
            "plain",
            "raising the maximum releases an old recommendation",
            situation(
                spec(QUEUE, behavior=None, most=5), replicas=3, answers=of_queue("queue", "300")
            ),
            then(first, answers=WELL, all_pods=5, spec=spec(QUEUE, behavior=None, most=50)),
        ),
        scenario(
            "plain",
            "nothing is remembered while metrics fail",
            situation(plain, replicas=6, all_pods=6),
            then(first, all_pods=6, answers=low),
        ),
        scenario(
            "plain",
            "doubling meets the maximum",
            situation(spec(QUEUE, behavior=None, most=6), answers=of_queue("queue", "1000")),
        ),
        scenario(
            "plain",
            "behavior comes and goes",
            situation(plain, replicas=6, all_pods=6, answers=WELL),
            then(first, all_pods=6, answers=low),
            then(first, all_pods=6, answers=low, spec=spec(QUEUE)),
            Step(situation=then(first, all_pods=3, answers=of_queue("queue", "250"), spec=plain)),
        ),
    ]


def bounds_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_outside(), *_limited(), *_zero(), *_without_behavior())
