"""Notes in the journal what becomes of the targets and their pods, as the API server stores them."""

from collections import defaultdict

from tests.simulation.cluster import Cluster, Collection, Document
from tests.simulation.journal import Journal, PodList, TargetVersion


def keep_history(cluster: Cluster, journal: Journal) -> None:
    """From now on."""
    pods: dict[str, dict[str, Document]] = defaultdict(dict)

    def changed(collection: Collection, kind: str, document: Document) -> None:
        metadata, at = document["metadata"], cluster.timeline.now
        if collection.plural == "deployments":
            target = f"{metadata['namespace']}/{metadata['name']}"
            version = TargetVersion(
                at=at, version=metadata["resourceVersion"],
                replicas=document["spec"]["replicas"], pods=document["status"]["replicas"],
            )  # fmt: skip
            journal.targets[target].append(version)
        elif collection.plural == "pods":
            target = f"{metadata['namespace']}/{metadata['labels']['app']}"
            pods[target].pop(metadata["name"], None)
            if kind != "DELETED":
                pods[target][metadata["name"]] = document
            journal.pods[target].append(PodList(at=at, pods=tuple(pods[target].values())))

    cluster.listeners.append(changed)
