"""What a testbed cluster can be asked to be."""

import msgspec

# Everything but what needs a cloud or a real network.
ALL_CONTROLLERS = ("*", "-node-ipam-controller", "-service-lb-controller", "-node-route-controller")
HPA_CONTROLLERS = ("horizontal-pod-autoscaler-controller", "serviceaccount-controller")


class HPAOptions(msgspec.Struct, frozen=True, kw_only=True):
    """kube-controller-manager's --horizontal-pod-autoscaler-* flags; the defaults are its own."""

    sync_period_seconds: float = 15
    downscale_stabilization_seconds: float = 300
    cpu_initialization_seconds: float = 300
    initial_readiness_delay_seconds: float = 30
    tolerance: float = 0.1
    concurrent_syncs: int = 5


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which programs run, and how."""

    controllers: tuple[str, ...] = ALL_CONTROLLERS  # none: no kube-controller-manager at all
    hpa: HPAOptions = HPAOptions()
    scheduler: bool = True
    kwok: bool = True  # nodes and pods without kubelets
    nodes: int = 3
    feature_gates: tuple[tuple[str, bool], ...] = ()  # of every Kubernetes program
    kube_api_qps: int = 500  # of the controller manager; its own default, 20, makes rollouts slow
    apiserver_flags: tuple[str, ...] = ()  # appended, so they win
    controller_manager_flags: tuple[str, ...] = ()
