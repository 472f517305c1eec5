"""To which revision of the target a pod belongs."""

from collections.abc import Sequence

from scaler.algorithm.observed import Pod

# Set by the controllers of Deployments, of Argo Rollouts, and of StatefulSets.
REVISION_LABELS = ("pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash")


def revision_of(pod: Pod) -> str:
    """The value of its label; empty for a pod without any of them."""
    for label in REVISION_LABELS:
        if label in pod.metadata.labels:
            return pod.metadata.labels[label]
    return ""


def live_pods_by_revision(pods: Sequence[Pod]) -> dict[str, tuple[Pod, ...]]:
    """The live pods of each revision; those without one, such as the pods of a Job, belong to no rollout."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.is_live and (revision := revision_of(pod)):
            found.setdefault(revision, []).append(pod)
    return {revision: tuple(each) for revision, each in found.items()}
