"""Register aggregated APIs on loopback through an ExternalName Service on localhost: no cluster network is needed."""

import base64
from typing import Any

from testbed.cluster import Cluster
from testbed.waiting import until


def _service(group: str) -> str:
    return f"external-{group.replace('.', '-')}"


def server_name(group: str, namespace: str = "default") -> str:
    """The name that the aggregator verifies in the server's certificate: that of the Service."""
    return f"{_service(group)}.{namespace}.svc"


def register(
    cluster: Cluster,
    group: str,
    version: str,
    port: int,
    *,
    ca_bundle: bytes | None = None,
    namespace: str = "default",
    service: str = "",
) -> str:
    """Create the APIService of group/version for a server on 127.0.0.1:port; returns its name.

    `ca_bundle` (PEM) must have signed a certificate for `server_name(group)`; None skips the verification. `service` names
    the Service, which then may serve several groups; its certificate is for SERVICE.NAMESPACE.svc.
    """
    service = service or _service(group)
    name = f"{version}.{group}"
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": service, "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"name": service, "namespace": namespace, "port": port},
                **_trust(ca_bundle),
            },
        },
    )
    return name


def _trust(ca_bundle: bytes | None) -> dict[str, Any]:
    if ca_bundle is None:
        return {"insecureSkipTLSVerify": True}
    return {"caBundle": base64.b64encode(ca_bundle).decode()}


def wait_until_available(cluster: Cluster, name: str, *, deadline_seconds: float = 60.0) -> None:
    """Wait until the APIService is Available. Raises DeadlineExceeded with the aggregator's message."""
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/{name}"

    def available() -> bool:
        conditions = cluster.get(path)["status"].get("conditions", [])
        condition = next((c for c in conditions if c["type"] == "Available"), None)
        assert condition is not None, f"{name} has no condition yet"  # noqa: S101  read by `until`
        assert condition["status"] == "True", condition["message"]  # noqa: S101
        return True

    until(
        available, what=f"APIService {name}", deadline_seconds=deadline_seconds, every_seconds=0.2
    )


def unregister(cluster: Cluster, name: str) -> None:
    """Delete the APIService. The Service stays for the next one of its group."""
    cluster.kubectl("delete", "apiservice", name, "--ignore-not-found")
