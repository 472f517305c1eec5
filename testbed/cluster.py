"""One real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok's nodes."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed import assets, certificates, component_flags, ports, web
from testbed.access import ClusterAccess, KubectlFailed
from testbed.cluster_options import ClusterOptions
from testbed.processes import Process, start
from testbed.waiting import until

KWOK_STAGES = Path(__file__).with_name("kwok_stages.yaml")
COMPONENT_USERS = {
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kube-scheduler": ("system:kube-scheduler", ()),
    "admin": ("admin", ("system:masters",)),
}
READY_DEADLINE_SECONDS = 90.0
STOP_GRACE_SECONDS = 2.0


__all__ = ["Cluster", "KubectlFailed"]


class Cluster(ClusterAccess):
    """`with Cluster() as cluster:` runs a control plane on loopback and stops all of it afterwards.

    Everything is written under `directory` (a temporary one when None). Its `logs` are kept when the block ends
    with an error or when the caller named the directory.
    """

    def __init__(
        self, options: ClusterOptions | None = None, *, directory: Path | None = None
    ) -> None:
        self.options = options or ClusterOptions()
        assets.find_all(_programs(self.options))
        self._reserved: list[int] = []
        self._is_temporary = directory is None
        super().__init__(
            directory=directory or Path(tempfile.mkdtemp(prefix="loadline-testbed-")),
            api_port=self._port(),
            kubectl=assets.find("kubectl"),
        )
        self.log_directory = self.directory / "logs"
        self.components: dict[str, Process] = {}
        self._front_proxy = certificates.Authority("loadline-testbed-front-proxy-ca")
        self._layout = component_flags.ClusterLayout(
            certificates=self.certificate_directory,
            storage=self.directory / "storage",
            kubeconfigs=self.kubeconfig_directory,
            stages=KWOK_STAGES,
            forwarded_ports=self.directory / "forwarded-ports.yaml",
            etcd_port=self._port(),
            etcd_peer_port=self._port(),
            apiserver_port=self._reserved[0],
            controller_manager_port=self._port(),
            scheduler_port=self._port(),
            kwok_port=self._port(),
        )

    def _port(self) -> int:
        self._reserved.append(ports.reserve())
        return self._reserved[-1]

    @property
    def authority_path(self) -> Path:
        """The CA as a file, for an aggregated API's --client-ca-file."""
        return self._layout.certificates / "ca.crt"

    @property
    def front_proxy_authority_path(self) -> Path:
        """For an aggregated API's --requestheader-client-ca-file."""
        return self._layout.certificates / "front-proxy-ca.crt"

    @property
    def front_proxy_certificate_path(self) -> Path:
        """The aggregator's own client certificate, for tests that send requests as the aggregator."""
        return self._layout.certificates / "front-proxy-client.crt"

    @property
    def front_proxy_key_path(self) -> Path:
        """The key of the aggregator's client certificate."""
        return self._layout.certificates / "front-proxy-client.key"

    def front_proxy_certificate(self, name: str) -> certificates.KeyPair:
        """A client certificate of the front-proxy CA with any name; only `front-proxy-client` is an allowed name."""
        return self._front_proxy.client(name)

    @property
    def controller_manager_port(self) -> int:
        """kube-controller-manager's HTTPS port: /metrics, /healthz."""
        return self._layout.controller_manager_port

    def add_nodes(self, count: int) -> None:
        """Add kwok nodes and wait until they are ready and have no taints."""
        present = {node["metadata"]["name"] for node in self.get("/api/v1/nodes")["items"]}
        names = [f"node-{number}" for number in range(len(present), len(present) + count)]
        self.apply(*[_node(name) for name in names])

        def schedulable() -> bool:
            nodes = [
                n for n in self.get("/api/v1/nodes")["items"] if n["metadata"]["name"] in names
            ]
            return len(nodes) == count and all(_is_schedulable(node) for node in nodes)

        until(
            schedulable, what=f"{count} nodes to be ready", deadline_seconds=READY_DEADLINE_SECONDS
        )

    # Starting and stopping.

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(self.stop)
            self._write_certificates()
            self._start_etcd()
            self.start_apiserver()
            if self.options.controllers:
                self.start_controller_manager()
            if self.options.scheduler:
                self._start(
                    "kube-scheduler", component_flags.kube_scheduler(self._layout, self.options)
                )
            if self.options.kwok:
                text = component_flags.forwarded_ports(self.options)
                self._layout.forwarded_ports.write_text(text, "utf-8")
                self._start("kwok", component_flags.kwok(self._layout, self.options))
            self._wait_for_components()
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._is_temporary and (error is None or isinstance(error, KeyboardInterrupt)):
            shutil.rmtree(self.directory, ignore_errors=True)

    def stop(self) -> None:
        """Kill every program at once, since none has state worth saving. The logs are kept."""
        self.close()
        while self.components:
            _, process = self.components.popitem()
            process.kill()
        while self._reserved:
            ports.release(self._reserved.pop())
        shutil.rmtree(self._layout.storage, ignore_errors=True)

    def start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready."""
        process = self._start(
            "kube-apiserver", component_flags.kube_apiserver(self._layout, self.options)
        )
        tls = web.trusting(self.authority)
        port = self._layout.apiserver_port
        self._wait_for(process, lambda: web.is_ok(port, "/readyz", tls=tls))

    def start_controller_manager(self) -> None:
        """Start kube-controller-manager; the caller waits until it is ready."""
        self._start(
            "kube-controller-manager",
            component_flags.kube_controller_manager(self._layout, self.options),
        )

    def stop_component(self, name: str) -> None:
        """Stop one component by name.

        The grace period is short: kube-apiserver would wait for its watchers, and etcd has its data already.
        """
        self.components.pop(name).stop(grace_seconds=STOP_GRACE_SECONDS)

    def restart_apiserver(self, options: ClusterOptions | None = None) -> None:
        """Restart kube-apiserver on the same port and storage, with other options if given; returns when it is ready."""
        self.options = options or self.options
        self.stop_component("kube-apiserver")
        self.start_apiserver()

    def restart_controller_manager(self, options: ClusterOptions | None = None) -> None:
        """Restart kube-controller-manager, with other options if given; returns when it is ready."""
        self.options = options or self.options
        self.stop_component("kube-controller-manager")
        self.start_controller_manager()
        self._wait_for_healthz("kube-controller-manager", self._layout.controller_manager_port)

    def _start(self, name: str, flags: Sequence[str]) -> Process:
        command: list[str | Path] = [assets.find(_program(name, self.options)), *flags]
        process = start(name, command, log_path=self.log_directory / f"{name}.log")
        self.components[name] = process
        return process

    def _start_etcd(self) -> None:
        self._layout.storage.mkdir(parents=True, exist_ok=True)
        process = self._start("etcd", component_flags.etcd(self._layout))
        self._wait_for(process, lambda: web.is_ok(self._layout.etcd_port, "/health"))

    def _wait_for(self, process: Process, ready: Callable[[], object]) -> None:
        process.wait_until(
            ready, what=f"{process.name} to be ready", deadline_seconds=READY_DEADLINE_SECONDS
        )

    def _wait_for_healthz(self, name: str, port: int) -> None:
        tls = web.trusting(None)
        self._wait_for(self.components[name], lambda: web.is_ok(port, "/healthz", tls=tls))

    def _wait_for_components(self) -> None:
        if self.options.controllers:
            self._wait_for_healthz("kube-controller-manager", self._layout.controller_manager_port)
        if self.options.scheduler:
            self._wait_for_healthz("kube-scheduler", self._layout.scheduler_port)
        if self.options.kwok:
            port = self._layout.kwok_port
            self._wait_for(self.components["kwok"], lambda: web.is_ok(port, "/healthz"))
            self.add_nodes(self.options.nodes)

    def _write_certificates(self) -> None:
        pki = self._layout.certificates
        pki.mkdir(parents=True, exist_ok=True)
        self.authority_path.write_bytes(self._authority.certificate)
        self.front_proxy_authority_path.write_bytes(self._front_proxy.certificate)
        hosts = (*certificates.LOOPBACK_HOSTS, "kubernetes.default.svc", "10.0.0.1")
        self._authority.serving("kube-apiserver", hosts).write(pki, "apiserver")
        self._front_proxy.client("front-proxy-client").write(pki, "front-proxy-client")
        private, public = certificates.signing_key()
        (pki / "service-account.key").write_bytes(private)
        (pki / "service-account.pub").write_bytes(public)
        for name, (user, groups) in COMPONENT_USERS.items():
            self._kubeconfig(name, self._authority.client(user, groups))


def _programs(options: ClusterOptions) -> list[str]:
    """The names of all programs that these options start, and of kubectl."""
    runs = {
        "etcd": True,
        "kube-apiserver": True,
        "kube-controller-manager": bool(options.controllers),
        "kube-scheduler": options.scheduler,
        "kwok": options.kwok,
        "kubectl": True,
    }
    return [_program(component, options) for component, needed in runs.items() if needed]


def _program(component: str, options: ClusterOptions) -> str:
    of_kubernetes = component in assets.COMPONENTS
    return f"{component}{options.kubernetes_suffix}" if of_kubernetes else component


def _node(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _is_schedulable(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and not node["spec"].get("taints")
