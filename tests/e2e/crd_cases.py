"""Specs that the API server accepts or rejects in an autoscaling/v2 HorizontalPodAutoscaler, by what is special about them."""

from typing import Any

DROP = object()

Spec = dict[str, Any]


def spec(**changes: Any) -> Spec:
    """A valid spec with some fields replaced; `DROP` removes one."""
    whole = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 10,
        **changes,
    }
    return {name: value for name, value in whole.items() if value is not DROP}


def target(**changes: Any) -> Spec:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", **changes}
    return spec(scaleTargetRef={name: value for name, value in ref.items() if value is not DROP})


def metric(kind: str, **source: Any) -> Spec:
    """A spec with one metric; `kind` is its type, `source` the content of its field."""
    field = kind[0].lower() + kind[1:]
    return spec(metrics=[{"type": kind, field: source}])


def resource(name: str = "cpu", **target: Any) -> Spec:
    return metric("Resource", name=name, target=target)


def container(name: str = "cpu", inside: str = "app", **target: Any) -> Spec:
    effective = target or {"type": "Utilization", "averageUtilization": 50}
    return metric("ContainerResource", name=name, container=inside, target=effective)


def external(name: str = "queue", **target: Any) -> Spec:
    return metric(
        "External",
        metric={"name": name},
        target=target or {"type": "AverageValue", "averageValue": "30"},
    )


def selecting(expression: Spec) -> Spec:
    return metric(
        "External",
        metric={"name": "queue", "selector": {"matchExpressions": [expression]}},
        target={"type": "AverageValue", "averageValue": "30"},
    )


def described(**target: Any) -> Spec:
    ref = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main"}
    return metric("Object", describedObject=ref, metric={"name": "rps"}, target=target)


def describing(**changes: Any) -> Spec:
    ref = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main", **changes}
    ref = {name: value for name, value in ref.items() if value is not DROP}
    return metric(
        "Object",
        describedObject=ref,
        metric={"name": "rps"},
        target={"type": "Value", "value": "100"},
    )


def pods(**target: Any) -> Spec:
    return metric("Pods", metric={"name": "rps"}, target=target)


def up(**rules: Any) -> Spec:
    return spec(behavior={"scaleUp": rules})


def down(**rules: Any) -> Spec:
    return spec(behavior={"scaleDown": rules})


def policy(**changes: Any) -> Spec:
    rule = {"type": "Pods", "value": 4, "periodSeconds": 15, **changes}
    return up(policies=[{name: value for name, value in rule.items() if value is not DROP}])


QUEUE = {
    "type": "External",
    "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}},
}
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}

VALID = {
    "only what is required": spec(),
    "an empty behavior": spec(behavior={}),
    "an empty scaleUp": up(),
    "an empty scaleDown": down(),
    "a null behavior": spec(behavior=None),
    "a null minReplicas": spec(minReplicas=None),
    "null metrics": spec(metrics=None),
    "no metrics": spec(metrics=[]),
    "null policies": up(policies=None),
    "only a window up": up(stabilizationWindowSeconds=60),
    "only a window down": down(stabilizationWindowSeconds=0),
    "the longest window": down(stabilizationWindowSeconds=3600),
    "only a select policy": down(selectPolicy="Disabled"),
    "only a policy": policy(),
    "the longest period": policy(periodSeconds=1800),
    "more than all pods may be removed": down(
        policies=[{"type": "Percent", "value": 500, "periodSeconds": 60}]
    ),
    "a tolerance": up(tolerance="0.05"),
    "a tolerance in milli": down(tolerance="50m"),
    "a tolerance of zero": down(tolerance=0),
    "a tolerance above one": down(tolerance="2"),
    "min equal to max": spec(minReplicas=10),
    "zero with an external metric": spec(minReplicas=0, metrics=[QUEUE]),
    "zero with an external metric among others": spec(minReplicas=0, metrics=[CPU, QUEUE]),
    "a huge max": spec(maxReplicas=2147483647),
    "a core controller": target(apiVersion="v1", kind="ReplicationController"),
    "a core controller without version": target(apiVersion=DROP, kind="ReplicationController"),
    "a group without a version": target(apiVersion="apps/"),
    "a custom target": target(apiVersion="example.com/v1alpha1", kind="Workload"),
    "a name with dots": target(name="web.v1"),
    "utilization": resource(type="Utilization", averageUtilization=80),
    "more than the request": resource(type="Utilization", averageUtilization=250),
    "a resource's average": resource("memory", type="AverageValue", averageValue="100Mi"),
    "an average below one": resource(type="AverageValue", averageValue=".5"),
    "an average with a sign": resource(type="AverageValue", averageValue="+1.50"),
    "an average that rounds up": resource(type="AverageValue", averageValue="1e-30"),
    "a resource of any name": resource("example.com/foo", type="AverageValue", averageValue="1"),
    "an odd resource name": resource("Not A Name", type="AverageValue", averageValue="1"),
    "a resource with a mismatched type": resource(type="Value", averageUtilization=80),
    "a resource with an unused value": resource(
        type="Utilization", averageUtilization=80, value="1"
    ),
    "a container": container(),
    "a container's memory": container("memory", type="AverageValue", averageValue="1Gi"),
    "a container's hugepages": container("hugepages-2Mi", type="AverageValue", averageValue="1Gi"),
    "a container's extended resource": container("nvidia.com/gpu"),
    "a container's native resource": container("kubernetes.io/batch-cpu"),
    "an external average": external(type="AverageValue", averageValue="30"),
    "an external value": external(type="Value", value="1500m"),
    "an external of a mismatched type": external(type="Utilization", value="1"),
    "an external with a pipe in its name": external("pubsub.googleapis.com|subscription|age"),
    "quantities as numbers": external(type="Value", value=5),
    "a quantity with an exponent": external(type="Value", value="1e3"),
    "a small quantity": external(type="Value", value="1n"),
    "a quantity with a sign": external(type="Value", value="+5"),
    "a selector": metric(
        "External",
        metric={
            "name": "q",
            "selector": {
                "matchLabels": {"queue": "mail"},
                "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
            },
        },
        target={"type": "Value", "value": "1"},
    ),
    "a selector that cannot be parsed": metric(
        "External",
        metric={
            "name": "q",
            "selector": {
                "matchExpressions": [{"key": "zone", "operator": "Like", "values": ["a"]}]
            },
        },
        target={"type": "Value", "value": "1"},
    ),
    "an empty selector": metric(
        "External", metric={"name": "q", "selector": {}}, target={"type": "Value", "value": "1"}
    ),
    "an object's value": described(type="Value", value="100"),
    "an object's average": described(type="AverageValue", averageValue="100"),
    "an object's both": described(type="Value", value="100", averageValue="10"),
    "an object of a mismatched type": described(type="Utilization", value="100"),
    "an object without group": describing(apiVersion="v1", kind="Service"),
    "an object without version": describing(apiVersion=DROP, kind="Service"),
    "pods": pods(type="AverageValue", averageValue="500m"),
    "pods of a mismatched type": pods(type="Value", averageValue="500m"),
    "two metrics": spec(metrics=[CPU, QUEUE]),
    "the same metric twice": spec(metrics=[CPU, CPU]),
    "an unknown field": spec(color="blue"),
}

INVALID = {
    "no max": spec(maxReplicas=DROP),
    "max 0": spec(maxReplicas=0),
    "a negative max": spec(maxReplicas=-1),
    "max below min": spec(minReplicas=11),
    "a negative min": spec(minReplicas=-1),
    "a max that is a string": spec(maxReplicas="10"),
    "a max that is too large": spec(maxReplicas=2147483648),
    "zero without metrics": spec(minReplicas=0),
    "zero with no metrics": spec(minReplicas=0, metrics=[]),
    "zero with cpu": spec(minReplicas=0, metrics=[CPU]),
    "no target": spec(scaleTargetRef=DROP),
    "a target without kind": target(kind=DROP),
    "a target with an empty kind": target(kind=""),
    "a kind with a slash": target(kind="apps/Deployment"),
    "a kind with a percent": target(kind="De%loyment"),
    "a target without name": target(name=DROP),
    "a target with an empty name": target(name=""),
    "a name of one dot": target(name="."),
    "a name of two dots": target(name=".."),
    "a name with a slash": target(name="a/b"),
    "a name with a percent": target(name="a%b"),
    "a target without version": target(apiVersion=DROP),
    "a target with an empty version": target(apiVersion=""),
    "a target of the core group": target(apiVersion="v1"),
    "a target with a slash alone": target(apiVersion="/v1"),
    "a target with two slashes": target(apiVersion="a/b/c"),
    "a core controller with two slashes": target(apiVersion="a/b/c", kind="ReplicationController"),
    "a metric without type": spec(metrics=[{"resource": CPU["resource"]}]),
    "a metric with an empty type": spec(metrics=[{**CPU, "type": ""}]),
    "a metric of an unknown type": spec(metrics=[{**CPU, "type": "CheddarCheese"}]),
    "a metric without source": spec(metrics=[{"type": "Resource"}]),
    "a metric with another's source": spec(metrics=[{**CPU, "type": "Pods"}]),
    "a metric with two sources": spec(metrics=[{**CPU, **QUEUE}]),
    "no target of a metric": metric("Resource", name="cpu"),
    "a target without type": resource(averageUtilization=50),
    "a target of an unknown type": resource(type="Median", averageUtilization=50),
    "a resource without name": resource("", type="Utilization", averageUtilization=50),
    "a resource without a target value": resource(type="Utilization"),
    "a resource with both": resource(type="Utilization", averageUtilization=50, averageValue="1"),
    "a resource with a value alone": resource(type="Value", value="1"),
    "a utilization of 0": resource(type="Utilization", averageUtilization=0),
    "an average of 0": resource(type="AverageValue", averageValue="0"),
    "an average of 0 as a number": resource(type="AverageValue", averageValue=0),
    "a negative average": resource(type="AverageValue", averageValue="-1"),
    "an average that is not a quantity": resource(type="AverageValue", averageValue="1 GB"),
    "an average that is empty": resource(type="AverageValue", averageValue=""),
    "an average of 0 milli": resource(type="AverageValue", averageValue="0m"),
    "an average of 0.00": resource(type="AverageValue", averageValue="0.00"),
    "an average of 0 with an exponent": resource(type="AverageValue", averageValue="0e3"),
    "an average of -0.5": resource(type="AverageValue", averageValue="-500m"),
    "an unused value of 0": resource(type="Utilization", averageUtilization=50, value="0"),
    "a container without name": container(inside=""),
    "a container with a capital": container(inside="App"),
    "a container with a dot": container(inside="a.b"),
    "a container with a long name": container(inside="a" * 64),
    "a container's unknown resource": container("gpu"),
    "a container's quota resource": container("requests.example.com/gpu"),
    "a container's resource with a bad name": container("example.com/"),
    "a container without a target value": container(type="Utilization"),
    "a container with both": container(type="Utilization", averageUtilization=50, averageValue="1"),
    "an external without metric": metric("External", target={"type": "Value", "value": "1"}),
    "an external with an empty name": external(""),
    "an external with a slash in its name": external("a/b"),
    "an external named ..": external(".."),
    "an external without a target value": external(type="Value"),
    "an external with both": external(type="Value", value="1", averageValue="1"),
    "an external with a value of 0": external(type="Value", value="0"),
    "an object without a target value": described(type="Value"),
    "an object without describedObject": metric(
        "Object", metric={"name": "rps"}, target={"type": "Value", "value": "1"}
    ),
    "an object without kind": describing(kind=DROP),
    "an object without name": describing(name=DROP),
    "an object with a slash in its name": describing(name="a/b"),
    "an object with two slashes": describing(apiVersion="a/b/c"),
    "pods without a target value": pods(type="AverageValue"),
    "pods with a value alone": pods(type="Value", value="1"),
    "pods with an average of 0": pods(type="AverageValue", averageValue="0"),
    "an invalid second metric": spec(metrics=[QUEUE, {"type": "Pods"}]),
    "a negative window": up(stabilizationWindowSeconds=-1),
    "a window of more than an hour": down(stabilizationWindowSeconds=3601),
    "an unknown select policy": up(selectPolicy="Median"),
    "an empty select policy": up(selectPolicy=""),
    "no policies": up(policies=[]),
    "no policies down": down(policies=[]),
    "a policy of an unknown type": policy(type="Nodes"),
    "a policy without type": policy(type=DROP),
    "a policy of 0": policy(value=0),
    "a policy without value": policy(value=DROP),
    "a policy without period": policy(periodSeconds=DROP),
    "a period of 0": policy(periodSeconds=0),
    "a period of more than half an hour": policy(periodSeconds=1801),
    "a negative tolerance": up(tolerance="-0.1"),
    "a negative tolerance as a number": up(tolerance=-1),
    "a tolerance that is not a quantity": up(tolerance="10%"),
}
