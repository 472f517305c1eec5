"""PURE  Real targets in kube-apiserver. Their reconciles pass no gate, so events are not counted."""

from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenarios.parts import (
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

REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
OLD_REF = {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"}
QUEUE = external("queue", total("100"))


def deployment_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    cpu = spec(resource("cpu", utilization(50)))
    busy = state(cpu, ref=REF, measured=usage("800m", "900m", "700m"))
    return (
        scenario("deployment", "cpu up and down", busy, then(busy, measured=usage(*["100m"] * 3))),
        scenario(
            "deployment",
            "an old version of its group",
            state(cpu, ref=OLD_REF, measured=usage("800m", "900m", "700m")),
        ),
        scenario("deployment", "that does not exist", state(spec(QUEUE), ref=REF, replicas=None)),
        scenario(
            "deployment",
            "more than the maximum",
            state(spec(QUEUE, most=5), ref=REF, replicas=8, responses=of_queue("queue", "1")),
        ),
        scenario(
            "deployment",
            "scaled to zero by a user",
            state(spec(QUEUE), ref=REF, replicas=0, all_pods=0),
        ),
        scenario(
            "deployment",
            "a metric that fails",
            state(spec(QUEUE), ref=REF),
            then(state(spec(QUEUE), ref=REF), responses=of_queue("queue", "160")),
        ),
    )
