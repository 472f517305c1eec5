"""PURE  Object metrics."""

from testbed.differential.scaler.scenario_model import Sample, Scenario
from testbed.differential.scaler.scenarios.parts import (
    average,
    object_metric,
    of_service,
    scenario,
    spec,
    state,
    then,
    total,
    utilization,
)
from testbed.differential.scaler.scenarios.pods import EXPRESSIONS, SELECTOR

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "name": "elsewhere"}
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main"}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
UNKNOWN = {"apiVersion": "example.com/v1", "kind": "Unheard", "name": "x"}


def _values() -> list[Scenario]:
    value = state(spec(object_metric("rps", total("100"))), responses=of_service("rps", "160"))
    per_pod = state(spec(object_metric("rps", average("50"))), responses=of_service("rps", "400"))
    return [
        scenario(
            "object",
            "a value above, at and below the target",
            value,
            then(value, responses=of_service("rps", "105")),
            then(value, responses=of_service("rps", "20")),
        ),
        scenario(
            "object",
            "an average above, at and below the target",
            per_pod,
            then(per_pod, responses=of_service("rps", "410")),
            then(per_pod, responses=of_service("rps", "51")),
        ),
        scenario(
            "object",
            "within the tolerance an average proposes what there is",
            state(
                spec(object_metric("rps", average("50"))),
                replicas=10,
                status=8,
                responses=of_service("rps", "400"),
            ),
        ),
        scenario(
            "object",
            "an average without running pods",
            state(
                spec(object_metric("rps", average("50"))),
                replicas=3,
                status=0,
                responses=of_service("rps", "400"),
            ),
            then(per_pod, status=0, responses=of_service("rps", "0")),
        ),
    ]


def _odd_values() -> list[Scenario]:
    value = state(spec(object_metric("rps", total("100"))), responses=of_service("rps", "160"))
    return [
        scenario(
            "object",
            "negative values",
            state(spec(object_metric("rps", total("100"))), responses=of_service("rps", "-160")),
            then(value, responses=of_service("rps", "-1n")),
        ),
        scenario(
            "object",
            "a negative average",
            state(spec(object_metric("rps", average("100"))), responses=of_service("rps", "-160")),
        ),
        scenario(
            "object",
            "values beyond every range",
            state(spec(object_metric("rps", total("1m"))), responses=of_service("rps", "9e15")),
            then(value, responses=of_service("rps", "9223372036854775807")),
            then(value, responses=of_service("rps", "10P")),
        ),
        scenario(
            "object",
            "an average beyond every range",
            state(spec(object_metric("rps", average("1m"))), responses=of_service("rps", "9e15")),
        ),
    ]


def _odd_targets() -> list[Scenario]:
    return [
        scenario(
            "object",
            "a target of neither value nor average",
            state(
                spec(
                    object_metric("rps", {**utilization(50), "value": "5"}),
                ),
                responses=of_service("rps", "20"),
            ),
        ),
        scenario(
            "object",
            "a target of the type Value with an average",
            state(
                spec(object_metric("rps", {"type": "Value", "averageValue": "5"})),
                responses=of_service("rps", "20"),
            ),
        ),
        scenario(
            "object",
            "a target with both, of the type AverageValue",
            state(
                spec(
                    object_metric(
                        "rps", {"type": "AverageValue", "averageValue": "5", "value": "1"}
                    )
                ),
                responses=of_service("rps", "20"),
            ),
        ),
    ]


def _described() -> list[Scenario]:
    return [
        scenario(
            "object",
            "of the namespace, whatever its name",
            state(
                spec(object_metric("rps", total("100"), described=NAMESPACE)),
                responses={"metrics/rps": (Sample(value="160"),)},
            ),
        ),
        scenario(
            "object",
            "of an Ingress",
            state(
                spec(object_metric("rps", total("100"), SELECTOR, described=INGRESS)),
                responses={"ingresses.networking.k8s.io/main/rps": (Sample(value="160"),)},
            ),
        ),
        scenario(
            "object",
            "of a Deployment, with expressions",
            state(
                spec(object_metric("rps", average("10"), EXPRESSIONS, described=DEPLOYMENT)),
                responses={"deployments.apps/web/rps": (Sample(value="160"),)},
            ),
        ),
        scenario(
            "object",
            "of a Node",
            state(
                spec(object_metric("load", total("10"), described=NODE)),
                responses={"nodes/n1/load": (Sample(value="16"),)},
            ),
        ),
        scenario(
            "object",
            "of a kind that does not exist",
            state(spec(object_metric("rps", total("100"), described=UNKNOWN))),
        ),
        scenario(
            "object",
            "two values where one is wanted",
            state(
                spec(object_metric("rps", total("100"))), responses=of_service("rps", "160", "10")
            ),
        ),
        scenario(
            "object",
            "no value where one is wanted",
            state(spec(object_metric("rps", average("100"))), responses=of_service("rps")),
        ),
    ]


def object_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_values(), *_odd_values(), *_odd_targets(), *_described())
