"""The model API server's discovery documents: all groups in one answer, or the plain list of them."""

from typing import Any

import msgspec

from tests.simulation.metrics_apis import GROUPS
from tests.simulation.network import Request, Response
from wire.api.loadline import GROUP, VERSION

# group/version -> resource -> kind and subresources
RESOURCES: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "v1": {
        "pods": ("Pod", ("status",)),
        "services": ("Service", ()),
        "events": ("Event", ()),
        "namespaces": ("Namespace", ()),
    },
    "apps/v1": {"deployments": ("Deployment", ("scale", "status"))},
    "autoscaling/v2": {"horizontalpodautoscalers": ("HorizontalPodAutoscaler", ("status",))},
    "coordination.k8s.io/v1": {"leases": ("Lease", ())},
    f"{GROUP}/{VERSION}": {
        "loadautoscalers": ("LoadAutoscaler", ("status",)),
        "scalingcalendars": ("ScalingCalendar", ()),
        "clusterscalingcalendars": ("ClusterScalingCalendar", ()),
    },
    **{f"{group}/{version}": {} for group, version in GROUPS.items()},
}


def documents(request: Request, *, nulls: bool) -> Response:
    """The answer at `/api` or `/apis`. `nulls` adds a group as kube-aggregator makes it for an API
    that serves no aggregated discovery: with `"verbs": null` in it.
    """
    is_core = request.path == "/api"
    names = [name for name in RESOURCES if ("/" not in name) == is_core]
    if "apidiscovery" not in request.headers.get("accept", ""):
        return Response(body=msgspec.json.encode(_plain(names, is_core=is_core)))
    items = [_group(name) for name in names]
    if nulls and not is_core:
        items.append(_GROUP_WITH_NULLS)
    document = {
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    }  # fmt: skip
    headers = {
        "Content-Type": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    }
    return Response(body=msgspec.json.encode(document), headers=headers)


def _group(name: str) -> dict[str, Any]:
    group, _, version = name.rpartition("/")
    resources = [
        {
            "resource": plural,
            "responseKind": {"group": group, "version": version, "kind": kind},
            "scope": "Cluster" if plural == "namespaces" else "Namespaced",
            "singularResource": kind.lower(),
            "verbs": ["get", "list", "watch"],
            "subresources": [
                {"subresource": each, "responseKind": {"kind": kind}, "verbs": ["get", "update"]}
                for each in subresources
            ],
        }
        for plural, (kind, subresources) in RESOURCES[name].items()
    ]
    versions = [{"version": version, "resources": resources, "freshness": "Current"}]
    return {"metadata": {"name": group, "creationTimestamp": None}, "versions": versions}


def _plain(names: list[str], *, is_core: bool) -> dict[str, Any]:
    if is_core:
        return {"kind": "APIVersions", "versions": ["v1"]}
    groups = []
    for name in names:
        group, _, version = name.partition("/")
        listed = {"groupVersion": name, "version": version}
        groups.append({"name": group, "versions": [listed], "preferredVersion": listed})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


_GROUP_WITH_NULLS = {
    "metadata": {"name": "old.metrics.example", "creationTimestamp": None},
    "versions": [
        {
            "version": "v1beta1",
            "resources": [
                {
                    "resource": "pods",
                    "responseKind": {"group": "", "version": "", "kind": ""},
                    "scope": "",
                    "singularResource": "",
                    "verbs": None,
                    "subresources": [
                        {
                            "subresource": "rps",
                            "responseKind": {"kind": "MetricValueList"},
                            "verbs": ["get"],
                        }
                    ],
                }
            ],
            "freshness": "Current",
        }
    ],
}
