"""PURE  minReplicas 0, with and without the feature gate HPAScaleToZero."""

from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenarios.parts import (
    external,
    object_metric,
    of_queue,
    of_service,
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


def zero_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    to_zero = state(spec(QUEUE, least=0), responses=of_queue("queue", "0"))
    both = spec(QUEUE, resource("cpu", utilization(50)), least=0)
    rate = spec(object_metric("rps", total("100")), least=0)
    back = of_queue("queue", "250")
    return (
        scenario(
            "zero",
            "to zero and back",
            to_zero,
            then(to_zero, all_pods=0, responses=of_queue("queue", "0")),
            then(to_zero, all_pods=0, responses=of_queue("queue", "1")),
            then(to_zero, all_pods=1, responses=back),
        ),
        scenario(
            "zero",
            "to zero, and the metric fails",
            to_zero,
            then(to_zero, all_pods=0, responses={}),
            then(to_zero, all_pods=0, responses=back),
        ),
        scenario(
            "zero",
            "scaled to zero by someone else",
            state(spec(QUEUE, least=0), replicas=0, all_pods=0, responses=back),
        ),
        scenario(
            "zero",
            "scaled up from zero by someone else",
            to_zero,
            then(to_zero, all_pods=0, replicas=2),
            then(to_zero, all_pods=2, responses=back),
        ),
        scenario(
            "zero",
            "the minimum is raised at zero replicas",
            to_zero,
            then(to_zero, all_pods=0, spec=spec(QUEUE, least=3)),
            then(to_zero, all_pods=3, spec=spec(QUEUE, least=3), responses=back),
        ),
        scenario(
            "zero",
            "cpu wants one",
            state(both, responses=of_queue("queue", "0"), measured=usage("500m", "500m", "500m")),
            then(to_zero, spec=both, measured=usage("0", "0", "0")),
            then(to_zero, spec=both, all_pods=0, measured=(), responses=back),
        ),
        scenario(
            "zero",
            "an object metric, to zero and back",
            state(rate, responses=of_service("rps", "0")),
            then(to_zero, spec=rate, all_pods=0, responses=of_service("rps", "104")),
        ),
        scenario(
            "zero",
            "never to zero without an External or Object metric",
            state(spec(resource("cpu", utilization(50))), measured=usage("0", "0", "0")),
        ),
    )
