"""The options of a testbed cluster."""

import msgspec

from testbed import assets

# All controllers except one that needs a real network. Those of a cloud do not start without one, and 1.37 has none of them.
ALL_CONTROLLERS = ("*", "-node-ipam-controller")
WITHOUT_HPA_CONTROLLER = (*ALL_CONTROLLERS, "-horizontal-pod-autoscaler-controller")
HPA_CONTROLLERS = ("horizontal-pod-autoscaler-controller", "serviceaccount-controller")


class HPAOptions(msgspec.Struct, frozen=True, kw_only=True):
    """kube-controller-manager's --horizontal-pod-autoscaler-* flags, with its defaults."""

    sync_period_seconds: float = 15
    downscale_stabilization_seconds: float = 300
    cpu_initialization_seconds: float = 300
    initial_readiness_delay_seconds: float = 30
    tolerance: float = 0.1
    concurrent_syncs: int = 5


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which components run, and with which flags."""

    # Of the Kubernetes programs: "" for those of the newest version, "-1.36" for those of another.
    kubernetes_suffix: str = msgspec.field(default_factory=assets.chosen_suffix)
    controllers: tuple[str, ...] = ALL_CONTROLLERS  # empty: kube-controller-manager does not run
    hpa: HPAOptions = HPAOptions()
    scheduler: bool = True
    kwok: bool = True  # simulates the kubelets
    nodes: int = 3
    # Ports of every pod that `kubectl port-forward` reaches, each with the port of 127.0.0.1 that stands in for it.
    forwarded_ports: tuple[tuple[int, int], ...] = ()
    feature_gates: tuple[tuple[str, bool], ...] = ()  # of every Kubernetes component
    kube_api_qps: int = 500  # of kube-controller-manager; its default of 20 makes rollouts slow
    apiserver_flags: tuple[str, ...] = ()  # appended, so they take precedence
    controller_manager_flags: tuple[str, ...] = ()
