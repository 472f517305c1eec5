"""One real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok's nodes."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed import assets, certificates, commands, ports, web
from testbed.access import Access, KubectlFailed
from testbed.options import ClusterOptions
from testbed.processes import Process, start
from testbed.waiting import until

STAGES = Path(__file__).with_name("stages.yaml")
NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
COMPONENT_USERS = {
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kube-scheduler": ("system:kube-scheduler", ()),
    "admin": ("admin", ("system:masters",)),
}
READY_DEADLINE_SECONDS = 90.0
STOP_GRACE_SECONDS = 2.0


__all__ = ["Cluster", "KubectlFailed"]


class Cluster(Access):
    """`with Cluster() as cluster:` has a control plane on loopback, and afterwards nothing is left running.

    `directory` gets everything the cluster writes (a temporary one when None); its `logs` outlive the cluster
    when an error ends the block, or when the caller named the directory.
    """

    def __init__(
        self, options: ClusterOptions | None = None, *, directory: Path | None = None
    ) -> None:
        self.options = options or ClusterOptions()
        self._programs = assets.find_all(NEEDED)
        self._reserved: list[int] = []
        self._is_temporary = directory is None
        super().__init__(
            directory=directory or Path(tempfile.mkdtemp(prefix="loadline-testbed-")),
            api_port=self._port(),
            kubectl=self._programs["kubectl"],
        )
        self.log_directory = self.directory / "logs"
        self.components: dict[str, Process] = {}
        self._front_proxy = certificates.Authority("loadline-testbed-front-proxy-ca")
        self._places = commands.Places(
            certificates=self.certificate_directory,
            storage=self.directory / "storage",
            kubeconfigs=self.kubeconfig_directory,
            stages=STAGES,
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
        """The same, as a file: an aggregated API's --client-ca-file."""
        return self._places.certificates / "ca.crt"

    @property
    def front_proxy_authority_path(self) -> Path:
        """An aggregated API's --requestheader-client-ca-file."""
        return self._places.certificates / "front-proxy-ca.crt"

    @property
    def front_proxy_certificate_path(self) -> Path:
        """The aggregator's own client certificate, for tests that speak as the aggregator does."""
        return self._places.certificates / "front-proxy-client.crt"

    @property
    def front_proxy_key_path(self) -> Path:
        """Its key."""
        return self._places.certificates / "front-proxy-client.key"

    def front_proxy_certificate(self, name: str) -> certificates.KeyPair:
        """A client certificate of the aggregator's authority under any name; only `front-proxy-client` is allowed."""
        return self._front_proxy.client(name)

    @property
    def controller_manager_port(self) -> int:
        """kube-controller-manager's HTTPS port: /metrics, /healthz."""
        return self._places.controller_manager_port

    def add_nodes(self, count: int) -> None:
        """Add kwok nodes and wait until they are ready and free of taints."""
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
                self._start("kube-scheduler", commands.kube_scheduler(self._places, self.options))
            if self.options.kwok:
                self._start("kwok", commands.kwok(self._places))
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
        """End every program at once: nothing they hold is worth saving. The logs stay."""
        while self.components:
            _, process = self.components.popitem()
            process.kill()
        while self._reserved:
            ports.release(self._reserved.pop())
        shutil.rmtree(self._places.storage, ignore_errors=True)

    def start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready."""
        process = self._start("kube-apiserver", commands.kube_apiserver(self._places, self.options))
        tls = web.trusting(self.authority)
        port = self._places.apiserver_port
        self._wait_for(process, lambda: web.is_ok(port, "/readyz", tls=tls))

    def start_controller_manager(self) -> None:
        """Start kube-controller-manager; `_wait_for_components` or the caller waits for what it does."""
        self._start(
            "kube-controller-manager", commands.kube_controller_manager(self._places, self.options)
        )

    def stop_component(self, name: str) -> None:
        """Stop one program by its name, to see how others take that.

        kube-apiserver would wait for its watchers to leave; what it has said is in etcd already.
        """
        self.components.pop(name).stop(grace_seconds=STOP_GRACE_SECONDS)

    def restart_apiserver(self) -> None:
        """Stop kube-apiserver and start it on the same port and storage; returns when it is ready."""
        self.stop_component("kube-apiserver")
        self.start_apiserver()

    def restart_controller_manager(self, options: ClusterOptions | None = None) -> None:
        """Stop kube-controller-manager and start it, with other options when they are given."""
        self.options = options or self.options
        self.stop_component("kube-controller-manager")
        self.start_controller_manager()
        self._wait_for_healthz("kube-controller-manager", self._places.controller_manager_port)

    def _start(self, name: str, flags: Sequence[str]) -> Process:
        command: list[str | Path] = [self._programs[name], *flags]
        process = start(name, command, log_path=self.log_directory / f"{name}.log")
        self.components[name] = process
        return process

    def _start_etcd(self) -> None:
        self._places.storage.mkdir(parents=True, exist_ok=True)
        process = self._start("etcd", commands.etcd(self._places))
        self._wait_for(process, lambda: web.is_ok(self._places.etcd_port, "/health"))

    def _wait_for(self, process: Process, ready: Callable[[], object]) -> None:
        process.wait_until(
            ready, what=f"{process.name} to be ready", deadline_seconds=READY_DEADLINE_SECONDS
        )

    def _wait_for_healthz(self, name: str, port: int) -> None:
        tls = web.trusting(None)
        self._wait_for(self.components[name], lambda: web.is_ok(port, "/healthz", tls=tls))

    def _wait_for_components(self) -> None:
        if self.options.controllers:
            self._wait_for_healthz("kube-controller-manager", self._places.controller_manager_port)
        if self.options.scheduler:
            self._wait_for_healthz("kube-scheduler", self._places.scheduler_port)
        if self.options.kwok:
            port = self._places.kwok_port
            self._wait_for(self.components["kwok"], lambda: web.is_ok(port, "/healthz"))
            self.add_nodes(self.options.nodes)

    def _write_certificates(self) -> None:
        pki = self._places.certificates
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


def _node(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _is_schedulable(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and not node["spec"].get("taints")
