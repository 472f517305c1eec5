"""PURE  minReplicas 0. Whether it means anything depends on the gate HPAScaleToZero."""

from testbed.differential.scaler.scenarios.building import (
    external,
    object_metric,
    of_queue,
    of_service,
    resource,
    scenario,
    situation,
    spec,
    then,
    total,
    usage,
    utilization,
)
from testbed.differential.scaler.situation import Scenario

QUEUE = external("queue", total("100"))


def zero_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    to_zero = situation(spec(QUEUE, least=0), answers=of_queue("queue", "0"))
    both = spec(QUEUE, resource("cpu", utilization(50)), least=0)
    rate = spec(object_metric("rps", total("100")), least=0)
    back = of_queue("queue", "250")
    return (
        scenario(
            "zero",
            "to nothing and back",
            to_zero,
            then(to_zero, all_pods=0, answers=of_queue("queue", "0")),
            then(to_zero, all_pods=0, answers=of_queue("queue", "1")),
            then(to_zero, all_pods=1, answers=back),
        ),
        scenario(
            "zero",
            "to nothing, and the metric fails",
            to_zero,
            then(to_zero, all_pods=0, answers={}),
            then(to_zero, all_pods=0, answers=back),
        ),
        scenario(
            "zero",
            "somebody else scaled to nothing",
            situation(spec(QUEUE, least=0), replicas=0, all_pods=0, answers=back),
        ),
        scenario(
            "zero",
            "somebody wakes it up",
            to_zero,
            then(to_zero, all_pods=0, replicas=2),
            then(to_zero, all_pods=2, answers=back),
        ),
        scenario(
            "zero",
            "the minimum is raised while nothing runs",
            to_zero,
            then(to_zero, all_pods=0, spec=spec(QUEUE, least=3)),
            then(to_zero, all_pods=3, spec=spec(QUEUE, least=3), answers=back),
        ),
        scenario(
            "zero",
            "cpu wants one",
            situation(both, answers=of_queue("queue", "0"), measured=usage("500m", "500m", "500m")),
            then(to_zero, spec=both, measured=usage("0", "0", "0")),
            then(to_zero, spec=both, all_pods=0, measured=(), answers=back),
        ),
        scenario(
            "zero",
            "an object metric, to nothing and back",
            situation(rate, answers=of_service("rps", "0")),
            then(to_zero, spec=rate, all_pods=0, answers=of_service("rps", "104")),
        ),
        scenario(
            "zero",
            "never to nothing without a queue or an object",
            situation(spec(resource("cpu", utilization(50))), measured=usage("0", "0", "0")),
        ),
    )
