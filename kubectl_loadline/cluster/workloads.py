"""The workload for which an autoscaler is proposed: from the cluster, or from a manifest."""

from pathlib import Path
from typing import Final

import msgspec

from kubectl_loadline.cluster.connecting import Session
from kubectl_loadline.cluster.manifests import UnusableManifest, read_objects

API_VERSIONS: Final = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1"}
KINDS: Final = {
    "deployment": "Deployment", "deployments": "Deployment", "deploy": "Deployment",
    "statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
    "replicaset": "ReplicaSet", "replicasets": "ReplicaSet", "rs": "ReplicaSet",
}  # fmt: skip


class FoundWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment, StatefulSet or ReplicaSet."""

    namespace: str
    name: str
    kind: str

    @property
    def api_version(self) -> str:
        """Of its kind."""
        return API_VERSIONS[self.kind]


def workload_of(text: str, namespace: str) -> FoundWorkload:
    """`deployment/web`, by any name that kubectl accepts. Raises ValueError with the fix."""
    kind, slash, name = text.partition("/")
    found = KINDS.get(kind.lower().removesuffix(".apps"))
    if found is None or not slash or not name or "/" in name:
        raise ValueError(
            f"{text!r} is not a workload: write deployment/NAME or statefulset/NAME, and the namespace with -n"
        )
    return FoundWorkload(namespace=namespace, name=name, kind=found)


async def workload_in_cluster(session: Session, text: str) -> FoundWorkload:
    """It must exist. Raises `StatusError`, `Unavailable` and ValueError."""
    found = workload_of(text, session.namespace)
    await session.client.get(
        f"/apis/apps/v1/namespaces/{found.namespace}/{found.kind.lower()}s/{found.name}"
    )
    return found


def read_workload(file: Path, *, namespace: str = "") -> FoundWorkload:
    """The only workload of a file; `namespace` is used where the file has none, and may be empty. Raises `UnusableManifest`."""
    documents = read_objects(file, namespace=namespace)
    found = [each for each in documents if each.get("kind") in API_VERSIONS]
    if len(found) != 1:
        raise UnusableManifest(
            f"{file}: it contains {len(found) or 'no'} Deployments or StatefulSets: it must contain exactly one"
        )
    kind, metadata = str(found[0]["kind"]), found[0].get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise UnusableManifest(
            f"{file}: the {kind} has no name: set metadata.name, in quotes if it is a number"
        )
    return FoundWorkload(namespace=str(metadata.get("namespace") or ""), name=name, kind=kind)
