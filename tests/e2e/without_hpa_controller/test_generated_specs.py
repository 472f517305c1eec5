"""Generated specs on a real kube-apiserver: each that it accepts gets its conditions, also with extreme values of metrics."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, settings

from testbed.cluster import Cluster
from testbed.waiting import until
from tests.crd_schema import schema_in
from tests.e2e.scaler_objects import CRD, LA, Json, autoscaler, plain_queue, workload
from tests.generated_specs import QUANTITIES, defaulted, objects
from wire.api.status import StatusError
from wire.kube.client import KubeClient
from wire.kube.connection import connect

SPEC = schema_in(CRD)["properties"]["spec"]
EXAMPLES = 200
ACCEPTED_MIN = 100
VALUES = (
    "0",
    "1",
    "-1",
    "1e30",
    "-1e30",
    "1n",
    "1e-30",
    "9223372036854775807",
    "1e400",
    "NaN",
    "",
    "1e99999999999999999999",
)


def generated(count: int) -> list[Json]:
    """The same specs each time."""
    found: list[Json] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(spec=objects(SPEC))
    def collect(spec: Json) -> None:
        found.append(defaulted(spec, SPEC))

    collect()
    return found


def usable(spec: Any, number: int) -> Any:
    """The spec with what the rules between fields require most often."""
    low, high = sorted((spec.get("minReplicas", 1), spec["maxReplicas"]))
    found = {**spec, "minReplicas": max(1, low), "maxReplicas": max(1, high)}
    metrics = [
        _measured(each, number + index) for index, each in enumerate(spec.get("metrics") or ())
    ]
    if metrics:
        found["metrics"] = metrics
    names = {each.get("name") for each in metrics}
    if spec.get("forecast", {}).get("metric") not in names:
        found.pop("forecast", None)
    behavior = found.get("behavior") or {}
    behavior.get("scaleDown", {}).pop("podDeletionCost", None)
    found.pop("scaleToZero", None)
    return found


def _measured(metric: Any, number: int) -> Any:
    kept = {
        name: each for name, each in metric.items() if name not in ("activationValue", "fallback")
    }
    if "external" in metric:
        name = f"queue-{number % len(VALUES)}"
        kept["external"] = {**metric["external"], "metric": {"name": name}}
    return kept


def specs() -> list[Json]:
    """Generated ones, and every quantity in every kind of field."""
    found = [usable(each, number) for number, each in enumerate(generated(EXAMPLES))]
    for text in QUANTITIES:
        external = plain_queue(text)["external"]
        metric = {"type": "External", "external": {**external, "metric": {"name": "queue-1"}}}
        usual = {
            "type": "External",
            "external": {**metric["external"], "target": {"type": "Value", "value": "1"}},
        }
        others: list[Json] = [
            {"metrics": [metric]},
            {"metrics": [usual], "behavior": {"scaleUp": {"tolerance": text}}},
            {"metrics": [{**usual, "activationValue": text}], "minReplicas": 0},
            {
                "metrics": [usual],
                "candidate": {
                    "mode": "DryRun",
                    "metrics": [usual],
                    "abortWhen": [{"metric": {"name": "queue-1"}, "above": text}],
                },
            },
        ]
        found += [{"maxReplicas": 9, **each} for each in others]
    return found


def without_pods(namespace: str, name: str) -> Json:
    """A Deployment that can be scaled: hundreds of them with all replicas of their specs would have thousands of pods."""
    document = workload("Deployment", namespace, 1, name)
    document["spec"]["paused"] = True
    return document


async def created(cluster: Cluster, namespace: str, wanted: list[Json]) -> list[str]:
    """The names of the autoscalers that kube-apiserver accepts."""
    client = KubeClient(await connect(cluster.kubeconfig, user_agent="test"))
    accepted = []
    try:
        for number, spec in enumerate(wanted):
            name = f"web-{number}"
            document = autoscaler(namespace, plain_queue("1"), name=name, target=name)
            target = document["spec"]["scaleTargetRef"]
            document["spec"] = {**spec, "scaleTargetRef": target}
            with suppress(StatusError):
                await client.create(
                    f"/apis/{LA}/namespaces/{namespace}/loadautoscalers",
                    msgspec.json.encode(document),
                )
                accepted.append(name)
    finally:
        await client.close()
    return accepted


def test_each_accepted_spec_gets_its_conditions(cluster, metrics_api, namespace, start_scaler):
    for number, value in enumerate(VALUES):
        metrics_api.values[f"{namespace}/queue-{number}"] = value
    accepted = asyncio.run(created(cluster, namespace, specs()))
    assert len(accepted) >= ACCEPTED_MIN
    cluster.apply(*(without_pods(namespace, name) for name in accepted))
    scaler = start_scaler("--sync-period=10s")
    path = f"/apis/{LA}/namespaces/{namespace}/loadautoscalers"

    def all_have_conditions() -> bool:
        found = cluster.get(path)["items"]
        without = [
            each["metadata"]["name"]
            for each in found
            if not each.get("status", {}).get("conditions")
        ]
        assert without == []
        return True

    until(
        all_have_conditions,
        what="the conditions of all",
        deadline_seconds=120,
        every_seconds=2.0,
    )
    log = scaler.process.log()
    for words in ("crashed", "Traceback", "cannot be decoded", "is invalid"):
        assert words not in log
