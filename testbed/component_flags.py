"""PURE  The command-line flags of each control-plane component."""

from pathlib import Path

import msgspec

from testbed.cluster_options import ClusterOptions


class ClusterLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The directories and ports of one cluster."""

    certificates: Path
    storage: Path
    kubeconfigs: Path
    stages: Path  # kwok's configuration
    forwarded_ports: Path  # more of it
    etcd_port: int
    etcd_peer_port: int
    apiserver_port: int
    controller_manager_port: int
    scheduler_port: int
    kwok_port: int


def forwarded_ports(options: ClusterOptions) -> str:
    """kwok's configuration for the forwarded ports of all pods."""
    forwards = [
        {"ports": [port], "target": {"address": "127.0.0.1", "port": local_port}}
        for port, local_port in options.forwarded_ports
    ]
    document = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterPortForward",
        "metadata": {"name": "forwarded-ports"},
        "spec": {"forwards": forwards},
    }
    return msgspec.json.encode(document).decode()


def _feature_gates(options: ClusterOptions) -> list[str]:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in options.feature_gates)
    return [f"--feature-gates={gates}"] if gates else []


def etcd(layout: ClusterLayout) -> list[str]:
    """Without fsync: nothing here needs to survive a power failure."""
    client, peer = (
        f"http://127.0.0.1:{layout.etcd_port}",
        f"http://127.0.0.1:{layout.etcd_peer_port}",
    )
    return [
        f"--data-dir={layout.storage / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def kube_apiserver(layout: ClusterLayout, options: ClusterOptions) -> list[str]:
    """RBAC, service account tokens, and the front proxy for aggregated APIs."""
    pki = layout.certificates
    return [
        f"--etcd-servers=http://127.0.0.1:{layout.etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={layout.apiserver_port}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki / 'service-account.pub'}",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        "--disable-admission-plugins=ServiceAccount",
        f"--requestheader-client-ca-file={pki / 'front-proxy-ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--kubelet-preferred-address-types=InternalIP",
        f"--proxy-client-cert-file={pki / 'front-proxy-client.crt'}",
        f"--proxy-client-key-file={pki / 'front-proxy-client.key'}",
        *_feature_gates(options),
        *options.apiserver_flags,
    ]


def _delegated(layout: ClusterLayout, name: str, port: int) -> list[str]:
    """A component's HTTPS port for health and metrics, with a self-signed certificate in memory."""
    kubeconfig = layout.kubeconfigs / f"{name}.json"
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--leader-elect=false",
    ]


def kube_controller_manager(layout: ClusterLayout, options: ClusterOptions) -> list[str]:
    """Each controller uses its own service account: under the manager's, the HPA controller lacks the right to scale.

    A node never counts as lost: kwok renews no leases, and every minute all pods would stop being ready for a moment.
    """
    hpa, prefix = options.hpa, "--horizontal-pod-autoscaler"
    return [
        *_delegated(layout, "kube-controller-manager", layout.controller_manager_port),
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.certificates / 'service-account.key'}",
        f"--root-ca-file={layout.certificates / 'ca.crt'}",
        f"--controllers={','.join(options.controllers)}",
        "--node-monitor-grace-period=24h",
        f"--kube-api-qps={options.kube_api_qps}",
        f"--kube-api-burst={2 * options.kube_api_qps}",
        f"{prefix}-sync-period={hpa.sync_period_seconds}s",
        f"{prefix}-downscale-stabilization={hpa.downscale_stabilization_seconds}s",
        f"{prefix}-cpu-initialization-period={hpa.cpu_initialization_seconds}s",
        f"{prefix}-initial-readiness-delay={hpa.initial_readiness_delay_seconds}s",
        f"{prefix}-tolerance={hpa.tolerance}",
        f"--concurrent-horizontal-pod-autoscaler-syncs={hpa.concurrent_syncs}",
        *_feature_gates(options),
        *options.controller_manager_flags,
    ]


def kube_scheduler(layout: ClusterLayout, options: ClusterOptions) -> list[str]:
    """With the default profile."""
    flags = _delegated(layout, "kube-scheduler", layout.scheduler_port)
    return [*flags, f"--kube-api-qps={options.kube_api_qps}", *_feature_gates(options)]


def kwok(layout: ClusterLayout, options: ClusterOptions) -> list[str]:
    """Simulates the kubelet of every node; only with forwarded ports does the API server connect to it."""
    kubelet = [
        f"--config={layout.forwarded_ports}",
        "--node-ip=127.0.0.1",
        f"--node-port={layout.kwok_port}",
    ]
    return [
        *(kubelet if options.forwarded_ports else ()),
        f"--kubeconfig={layout.kubeconfigs / 'admin.json'}",
        f"--config={layout.stages}",
        "--manage-all-nodes=true",
        f"--server-address=127.0.0.1:{layout.kwok_port}",
    ]
