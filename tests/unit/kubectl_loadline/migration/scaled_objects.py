"""ScaledObjects with the given triggers, converted."""

from kubectl_loadline.migration import from_scaled_object

SERVER = "http://prometheus.monitoring.svc:9090"


def prometheus(query="sum(queue)", threshold="30", metric_type=None, name=None, **metadata):
    trigger = {
        "type": "prometheus",
        "metadata": {"serverAddress": SERVER, "query": query, "threshold": threshold, **metadata},
    }
    if metric_type:
        trigger["metricType"] = metric_type
    if name:
        trigger["name"] = name
    return trigger


def cron(start, end, **metadata):
    times = {"start": start, "end": end, "desiredReplicas": "6", "timezone": "Europe/Berlin"}
    return {"type": "cron", "metadata": {**times, **metadata}}


CPU = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}


def converted(
    *triggers, annotations=None, as_objects=False, names=None, of=("shop", "worker"), **spec
):
    return from_scaled_object(
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": of[1], "namespace": of[0], "annotations": annotations or {}},
            "spec": {"scaleTargetRef": {"name": "worker"}, "triggers": list(triggers), **spec},
        },
        dry_run=False,
        as_objects=as_objects,
        names=names,
    )


def spec_of(*triggers, **spec):
    return converted(*triggers, **spec).autoscaler["spec"]


def remarked(*triggers, **spec):
    return [remark.field for remark in converted(*triggers, **spec).remarks]
