"""The resources built into Kubernetes, for checking a configuration without a cluster.

Those of Kubernetes 1.37 in their stable versions, in the order of its discovery, which decides what `event` means.
"""

from collections.abc import Mapping
from typing import Final

from adapter.fetch.cluster_mapping import ClusterMapping
from wire.api.status import Unavailable
from wire.kube.mapper import RestMapper
from wire.kube.mapping import GroupVersion, Resource, guessed_names

# Group: kinds in namespaces, kinds of the cluster. Plural and singular follow from the kind.
_KINDS: Final = {
    "": (
        (
            "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "
            "ResourceQuota Secret ServiceAccount Service"
        ),
        "ComponentStatus Namespace Node PersistentVolume",
    ),
    "apiregistration.k8s.io": ("", "APIService"),
    "apps": ("ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""),
    "events.k8s.io": ("Event", ""),
    "authentication.k8s.io": ("", "SelfSubjectReview TokenReview"),
    "authorization.k8s.io": (
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    ),
    "autoscaling": ("HorizontalPodAutoscaler", ""),
    "batch": ("CronJob Job", ""),
    "certificates.k8s.io": (
        "PodCertificateRequest",
        "CertificateSigningRequest ClusterTrustBundle",
    ),
    "networking.k8s.io": ("Ingress NetworkPolicy", "IngressClass IPAddress ServiceCIDR"),
    "policy": ("PodDisruptionBudget", ""),
    "rbac.authorization.k8s.io": ("RoleBinding Role", "ClusterRoleBinding ClusterRole"),
    "storage.k8s.io": (
        "CSIStorageCapacity",
        "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    ),
    "admissionregistration.k8s.io": (
        "",
        (
            "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
            "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"
        ),
    ),
    "apiextensions.k8s.io": ("", "CustomResourceDefinition"),
    "scheduling.k8s.io": ("", "PriorityClass"),
    "coordination.k8s.io": ("Lease", ""),
    "node.k8s.io": ("", "RuntimeClass"),
    "discovery.k8s.io": ("EndpointSlice", ""),
    "resource.k8s.io": (
        "ResourceClaim ResourceClaimTemplate",
        "DeviceClass DeviceTaintRule ResourceSlice",
    ),
    "flowcontrol.apiserver.k8s.io": ("", "FlowSchema PriorityLevelConfiguration"),
    "storagemigration.k8s.io": ("", "StorageVersionMigration"),
}
_VERSIONS: Final = {"autoscaling": "v2"}


def built_in_mapping() -> ClusterMapping:
    """A `ResourceMapping` of any cluster without custom resources."""
    return ClusterMapping(RestMapper(_NoCluster(), known=built_in_versions()))


def built_in_versions() -> tuple[GroupVersion, ...]:
    """Each group in its one version."""
    return tuple(_version(group, *kinds) for group, kinds in _KINDS.items())


def _version(group: str, in_namespaces: str, of_the_cluster: str) -> GroupVersion:
    version = _VERSIONS.get(group, "v1")

    def resource(kind: str, *, namespaced: bool) -> Resource:
        plural, singular = guessed_names(kind)
        return Resource(
            group=group,
            version=version,
            name=plural,
            singular=singular,
            kind=kind,
            namespaced=namespaced,
        )

    resources = [resource(kind, namespaced=True) for kind in in_namespaces.split()]
    resources += [resource(kind, namespaced=False) for kind in of_the_cluster.split()]
    return GroupVersion(group=group, version=version, preferred=True, resources=tuple(resources))


class _NoCluster:
    """A client without a cluster."""

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,  # noqa: ARG002 - the port's signature
        *,
        accept: str = "",  # noqa: ARG002
    ) -> bytes:
        raise Unavailable(f"there is no cluster to get {path} from")
