"""PURE  The Kubernetes objects of the demo, as a user would write them."""

from typing import Any

from testbed.demo.load_plan import (
    NAMESPACE,
    RATE_WINDOW_SECONDS,
    SYNC_SECONDS,
    WEB,
    WORKER,
    Plan,
    Workload,
)
from wire.api.loadline import API_VERSION as LOADLINE

Manifest = dict[str, Any]

METRICS = [
    {
        "name": WEB.metric,
        "describes": "pods",
        "query": f"sum by (namespace, pod) (rate(http_requests_total[{RATE_WINDOW_SECONDS}s]))",
    },
    {"name": WORKER.metric, "query": "sum by (queue) (queue_length)"},
]


def adapter_values(*, port: int, prometheus_port: int) -> Manifest:
    """The adapter runs as a local process, so its Service is an ExternalName."""
    return {
        "replicas": 0,
        "service": {"type": "ExternalName", "externalName": "localhost", "port": port},
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus_port},
        "rules": {"default": False, "metrics": METRICS},
    }


def scaler_values() -> Manifest:
    """The scaler runs as a local process; connections to its simulated pod are forwarded to it."""
    return {"replicas": 1, "syncPeriod": f"{SYNC_SECONDS}s"}


def deployment(workload: Workload) -> Manifest:
    """A Deployment that starts with minReplicas."""
    name = workload.name
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": workload.min_replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": name, "image": name}],
                },
            },
        },
    }


def web_autoscaler(plan: Plan) -> Manifest:
    """A HorizontalPodAutoscaler on a metric of the pods themselves."""
    target = {"type": "AverageValue", "averageValue": f"{WEB.target_per_replica:g}"}
    metric = {"type": "Pods", "pods": {"metric": {"name": WEB.metric}, "target": target}}
    return _autoscaler("autoscaling/v2", WEB, metric, plan)


def worker_autoscaler(plan: Plan) -> Manifest:
    """A LoadAutoscaler on an External metric; it differs from an HPA only in apiVersion and kind."""
    target = {"type": "AverageValue", "averageValue": f"{WORKER.target_per_replica:g}"}
    selector = {"matchLabels": {"queue": "mail"}}
    named = {"name": WORKER.metric, "selector": selector}
    metric = {"type": "External", "external": {"metric": named, "target": target}}
    return _autoscaler(LOADLINE, WORKER, metric, plan)


def _autoscaler(api_version: str, scaled: Workload, metric: Manifest, plan: Plan) -> Manifest:
    return {
        "apiVersion": api_version,
        "kind": scaled.kind,
        "metadata": {"name": scaled.name, "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": scaled.name},
            "minReplicas": scaled.min_replicas,
            "maxReplicas": scaled.max_replicas,
            "metrics": [metric],
            "behavior": {
                "scaleDown": {"stabilizationWindowSeconds": plan.stabilization_seconds},
            },
        },
    }
