"""PURE  Real targets, served by kube-apiserver. Their looks pass no gate, so events are not counted here."""

from testbed.differential.scaler.scenarios.building import (
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
from testbed.differential.scaler.situation import Scenario

REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
OLD_REF = {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"}
QUEUE = external("queue", total("100"))


def deployment_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    cpu = spec(resource("cpu", utilization(50)))
    busy = situation(cpu, ref=REF, measured=usage("800m", "900m", "700m"))
    return (
        scenario("deployment", "cpu up and down", busy, then(busy, measured=usage(*["100m"] * 3))),
        scenario(
            "deployment",
            "an old version of its group",
            situation(cpu, ref=OLD_REF, measured=usage("800m", "900m", "700m")),
        ),
        scenario(
            "deployment", "that does not exist", situation(spec(QUEUE), ref=REF, replicas=None)
        ),
        scenario(
            "deployment",
            "more than the maximum",
            situation(spec(QUEUE, most=5), ref=REF, replicas=8, answers=of_queue("queue", "1")),
        ),
        scenario(
            "deployment",
            "scaled to nothing by hand",
            situation(spec(QUEUE), ref=REF, replicas=0, all_pods=0),
        ),
        scenario(
            "deployment",
            "a metric that fails",
            situation(spec(QUEUE), ref=REF),
            then(situation(spec(QUEUE), ref=REF), answers=of_queue("queue", "160")),
        ),
    )
