"""`python -m testbed.oracle.record_discovery`: record the discovery documents of a real kube-apiserver for tests/conformance/kube.

Groups of custom resources (example.com) stay as they are in the file. Only the fields that a mapper of names reads are recorded.
"""

import json
from pathlib import Path
from typing import Any

from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions

DISCOVERY = Path(__file__).parents[2] / "tests" / "conformance" / "kube" / "discovery.json"
CUSTOM = "example.com"
RESOURCE_FIELDS = ("name", "singularName", "namespaced", "kind", "verbs", "shortNames")


def main() -> None:
    """Write the file again."""
    before = json.loads(DISCOVERY.read_text())
    with Cluster(ClusterOptions(controllers=(), scheduler=False, kwok=False)) as cluster:
        recorded = _recorded(cluster)
    recorded["/apis"]["groups"] += [
        each for each in before["/apis"]["groups"] if CUSTOM in each["name"]
    ]
    custom = {path: document for path, document in before.items() if CUSTOM in path}
    DISCOVERY.write_text(json.dumps(recorded | custom, indent=1) + "\n")


def _recorded(cluster: Cluster) -> dict[str, Any]:
    groups = cluster.get("/apis")["groups"]
    found: dict[str, Any] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
    }
    for path in ("/api/v1", *_version_paths(groups)):
        found[path] = _resources(cluster.get(path))
    return found


def _version_paths(groups: list[Any]) -> list[str]:
    return [f"/apis/{version['groupVersion']}" for each in groups for version in each["versions"]]


def _resources(document: Any) -> dict[str, Any]:
    kept = [
        {field: each[field] for field in RESOURCE_FIELDS if field in each}
        for each in document["resources"]
    ]
    return {
        "kind": "APIResourceList",
        "groupVersion": document["groupVersion"],
        "resources": kept,
    }


if __name__ == "__main__":
    main()
