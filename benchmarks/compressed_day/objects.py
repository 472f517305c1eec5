"""PURE  The Kubernetes objects, as a user would write them."""

from typing import Any

from wire.api.loadline import API_VERSION

NAMESPACE = "compressed-day"
WITH, WITHOUT = "with-forecast", "without-forecast"
METRIC = "requests_per_second"
SERIES = "played_requests_per_second"
LEAD_SECONDS = 300
MAX_REPLICAS = 100
ADAPTER_CONFIGURATION = f"metrics: [{{name: {METRIC}, query: sum({SERIES})}}]\n"

Manifest = dict[str, Any]

# The scaler does not scale down by copies of pods and HPAs that the API server has not confirmed for six minutes. A
# bookmark confirms them once a minute, but of real time. So one of each is changed once a compressed minute.
HEARTBEATS: tuple[Manifest, ...] = (
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "heartbeat", "namespace": NAMESPACE},
        "spec": {
            "schedulingGates": [{"name": "testbed.loadline.io/never"}],
            "containers": [{"name": "main", "image": "main"}],
        },
    },
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "heartbeat", "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "heartbeat"},
            "maxReplicas": 1,
        },
    },
)
HEARTBEAT_PATHS = (
    f"/api/v1/namespaces/{NAMESPACE}/pods/heartbeat",
    f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers/heartbeat",
)


def deployment(name: str, replicas: int, start_up_seconds: float) -> Manifest:
    """Its pods become ready after so many real seconds."""
    labels = {"app": name}
    start_up = {"testbed.loadline.io/start-up": f"{round(1000 * start_up_seconds)}ms"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": start_up},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "main", "image": "main"}],
                },
            },
        },
    }


def autoscaler(name: str, per_replica: float) -> Manifest:
    """The HPA algorithm with its defaults; one of both has a forecast in addition."""
    target = {"type": "AverageValue", "averageValue": f"{round(1000 * per_replica)}m"}
    metric = {"metric": {"name": METRIC}, "target": target}
    spec: Manifest = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": 1,
        "maxReplicas": MAX_REPLICAS,
        "metrics": [{"name": "load", "type": "External", "external": metric}],
    }
    if name == WITH:
        spec["forecast"] = {"metric": "load", "mode": "Add", "leadSeconds": LEAD_SECONDS}
    return {
        "apiVersion": API_VERSION,
        "kind": "LoadAutoscaler",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
