"""The model API server's discovery documents: all groups in one answer, or the plain list of them."""

from functools import cache
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
    if "apidiscovery" not in request.headers.get("accept", ""):
        return Response(body=_plain(is_core=is_core))
    headers = {
        "Content-Type": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    }
    return Response(body=_aggregated(is_core=is_core, nulls=nulls), headers=headers)


@cache
def _aggregated(*, is_core: bool, nulls: bool) -> bytes:
    items = [_group(name) for name in _names(is_core=is_core)]
    if nulls and not is_core:
        items.append(_GROUP_WITH_NULLS)
    document = {
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    }  # fmt: skip
    return msgspec.json.encode(document)


def _names(*, is_core: bool) -> list[str]:
    return [name for name in RESOURCES if ("/" not in name) == is_core]


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


@cache
def _plain(*, is_core: bool) -> bytes:
    if is_core:
        return msgspec.json.encode({"kind": "APIVersions", "versions": ["v1"]})
    groups = []
    for name in _names(is_core=is_core):
        group, _, version = name.partition("/")
        listed = {"groupVersion": name, "version": version}
        groups.append({"name": group, "versions": [listed], "preferredVersion": listed})
    return msgspec.json.encode({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})


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
