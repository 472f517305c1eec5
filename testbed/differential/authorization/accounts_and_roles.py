"""A namespace with a few metrics, and accounts that may read all of them, one or none."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from testbed.cluster import Cluster
from testbed.differential.adapter.metrics_requests import CUSTOM, EXTERNAL, MetricsRequest
from testbed.exporter import Exporter
from testbed.waiting import until

NAMESPACE = "rights"
ELSEWHERE = "rights-elsewhere"
ALL, ONE, NONE = "reads-all", "reads-one", "reads-nothing"
IMPERSONATOR = "impersonates-some"
"""May impersonate the users and accounts of `ALL` and `ONE`, the group of readers, one UID and one extra field."""
GROUP = "readers-of-all"
"""A group that may read all metrics, named in a certificate's organization or a front proxy's header."""

CONFIGURATION = """
rules:
- seriesQuery: '{__name__=~"inflight|latency",namespace!="",pod!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'load{node!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: '{__name__=~"queue_length|backlog",namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
"""
LISTED_METRICS = ("pods/inflight", "pods/latency", "nodes/load", "queue_length", "backlog")


def install(cluster: Cluster) -> None:
    """Create namespaces, pods, accounts and roles, and wait until the API server applies the roles."""
    cluster.apply(*_objects())
    for account, group, verb, resource in (
        (ALL, CUSTOM, "get", "pods/latency"),
        (ONE, CUSTOM, "get", "pods/inflight"),
        (ONE, EXTERNAL, "list", "queue_length"),
        (IMPERSONATOR, "", "impersonate", "serviceaccounts"),
    ):
        review = _review(account, group, verb, resource)
        until(partial(_is_allowed, cluster, review), what=f"{account} to be allowed {resource}")


def remove(cluster: Cluster) -> None:
    """Delete everything that `install` created."""
    cluster.kubectl("delete", "namespace", NAMESPACE, ELSEWHERE, "--wait=false")
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", ALL, IMPERSONATOR)


def expose(exporter: Exporter) -> None:
    """Expose constant values."""
    for namespace in (NAMESPACE, ELSEWHERE):
        for metric in ("inflight", "latency"):
            exporter.set(metric, 12, namespace=namespace, pod="web-0")
        for metric in ("queue_length", "backlog"):
            exporter.set(metric, 7, namespace=namespace)
    exporter.set("load", 3, node="node-0")


def requests() -> Iterator[MetricsRequest]:
    """Requests that need different permissions: by metric, API and namespace, and discovery and non-resource paths."""
    custom, external = f"/apis/{CUSTOM}/v1beta1", f"/apis/{EXTERNAL}/v1beta1"
    for namespace in (NAMESPACE, ELSEWHERE):
        pods = f"namespaces/{namespace}/pods"
        yield _get("the allowed metric", f"{custom}/{pods}/web-0/inflight")
        yield _get("another metric", f"{custom}/{pods}/web-0/latency")
        yield _get("the allowed external metric", f"{external}/namespaces/{namespace}/queue_length")
        yield _get("another external metric", f"{external}/namespaces/{namespace}/backlog")
    here = f"namespaces/{NAMESPACE}"
    yield _get("the other version", f"/apis/{CUSTOM}/v1beta2/{here}/pods/web-0/inflight")
    yield _get("of every pod", f"{custom}/{here}/pods/%2A/inflight")
    yield _get("of some pods", f"{custom}/{here}/pods/%2A/inflight?labelSelector=app%3Dweb")
    yield _get("of the namespace", f"{custom}/{here}/metrics/inflight")
    yield _get("of a node", f"{custom}/nodes/node-0/load")
    yield _get("by another spelling", f"{custom}/{here}/pod/web-0/inflight")
    yield _get("no such metric", f"{custom}/{here}/pods/web-0/nothing")
    yield _get("no such external metric", f"{external}/{here}/nothing")
    yield _get("a watch", f"{external}/{here}/queue_length?watch=true")
    yield _get("no such route", f"{custom}/{here}/pods/web-0/inflight/more/still")
    for method in ("POST", "DELETE", "PUT", "PATCH"):
        target = f"{custom}/{here}/pods/web-0/inflight"
        yield MetricsRequest(category="another method", target=target, method=method)
    for path in ("/apis", f"/apis/{CUSTOM}", custom, external, "/apis/apps/v1"):
        yield _get("discovery", path)
    for path in (
        "/healthz",
        "/livez",
        "/readyz",
        "/metrics",
        "/version",
        "/openapi/v2",
        "/nothing",
        "/",
    ):
        yield _get("no resource", path)


def _get(category: str, target: str) -> MetricsRequest:
    return MetricsRequest(category=category, target=target)


def _review(account: str, group: str, verb: str, resource: str) -> bytes:
    kind, _, subresource = resource.partition("/")
    attributes = {
        "namespace": NAMESPACE,
        "verb": verb,
        "group": group,
        "version": "v1beta1",
        "resource": kind,
        "subresource": subresource,
    }
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    return msgspec.json.encode(
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
    )


def _is_allowed(cluster: Cluster, review: bytes) -> bool:
    answer = cluster.kubectl("create", "--filename=-", "--output=json", input=review.decode())
    return bool(msgspec.json.decode(answer)["status"]["allowed"])


def _objects() -> Iterator[dict[str, Any]]:
    for name in (NAMESPACE, ELSEWHERE):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web-0", "namespace": name, "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "main"}]},
        }
    for name in (ALL, ONE, NONE, IMPERSONATOR):
        about = {"name": name, "namespace": NAMESPACE}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about}
    everything = [
        {"apiGroups": [CUSTOM, EXTERNAL], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    one = [
        {"apiGroups": [CUSTOM], "resources": ["pods/inflight"], "verbs": ["get"]},
        {"apiGroups": [EXTERNAL], "resources": ["queue_length"], "verbs": ["list"]},
    ]
    yield from _granted("ClusterRole", {"name": ALL}, everything)
    yield from _granted("Role", {"name": ONE, "namespace": NAMESPACE}, one)
    yield from _granted("ClusterRole", {"name": IMPERSONATOR}, list(_impersonations()))


def _impersonations() -> Iterator[dict[str, Any]]:
    groups = [GROUP, "system:unauthenticated"]
    for resource, names in (("users", [ALL, ONE, "system:anonymous"]), ("groups", groups)):
        yield _impersonation("", resource, names)
    yield {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
    yield _impersonation("authentication.k8s.io", "uids", ["7"])
    yield _impersonation("authentication.k8s.io", "userextras/example.com/team", ["blue"])


def _impersonation(group: str, resource: str, names: list[str]) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "resources": [resource],
        "resourceNames": names,
        "verbs": ["impersonate"],
    }


def _granted(
    kind: str, about: dict[str, str], rules: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """A role, bound to the service account and the user of its name, and for `ALL` to the group."""
    rbac = "rbac.authorization.k8s.io"
    name = about["name"]
    subjects = [{"apiGroup": rbac, "kind": "User", "name": name}]
    if name == ALL:
        subjects.append({"apiGroup": rbac, "kind": "Group", "name": GROUP})
    account = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    yield {"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": about, "rules": rules}
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": f"{kind}Binding",
        "metadata": about,
        "roleRef": {"apiGroup": rbac, "kind": kind, "name": name},
        "subjects": [*subjects, account],
    }
